import CSpawn
import Foundation

/// Programs that are started and left to themselves.
///
/// Foundation's Process does not do: it learns of the end by a socket that the child inherits, and so does a server that
/// the child leaves behind, which would keep it waiting for as long as that server lives.
enum ChildProcess {
    /// The first descriptor that a program may not inherit.
    private static let firstOwn: Int32 = 3
    /// Up to which they are closed one by one, where the system does not close all at once.
    private static let mostClosed: Int32 = 65_536

    /// Starts a program without input, whose output of both kinds is appended to a file.
    ///
    /// - Returns: Its process id; whoever starts it has to wait for it.
    /// - Throws: ``LocalPostgres/Failure``.
    static func start(_ command: [String], output: String) throws -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
        #else
            var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_APPEND | O_CREAT, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // Whoever waits for the end of a socket or pipe of ours would wait for the program's.
        if close_descriptors_from(&actions, firstOwn) != 0 {
            for descriptor in firstOwn..<min(getdtablesize(), mostClosed) {
                posix_spawn_file_actions_addclose(&actions, descriptor)
            }
        }
        var arguments = command.map { strdup($0) }
        arguments.append(nil)
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let error = posix_spawn(&child, command[0], &actions, nil, arguments, environ)
        guard error == 0 else { throw LocalPostgres.Failure("\(command[0]) cannot be started: error \(error)") }
        return child
    }
}
