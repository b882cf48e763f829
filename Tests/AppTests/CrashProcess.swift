import Foundation

/// A program that was started and can be sent signals.
///
/// Foundation's Process does not do: it learns of the end by a socket that the PostgreSQL which a killed Roost leaves
/// behind has inherited, so that the end would not be seen.
struct CrashProcess {
    /// How a program ended.
    enum End: Equatable {
        case exit(status: Int32)
        case signal(Int32)
    }

    let identifier: pid_t
    private(set) var end: End?

    /// Starts a program whose output is appended to a file.
    init(_ command: [String], output: String) throws {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
        #else
            var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_APPEND | O_CREAT, 0o644)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // Other tests wait for the end of connections, which would not come while the program holds them open.
        for descriptor in Int32(3)..<4096 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        var arguments = command.map { strdup($0) }
        arguments.append(nil)
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let error = posix_spawn(&child, command[0], &actions, nil, arguments, environ)
        guard error == 0 else {
            throw CrashServer.Failure(description: "\(command[0]) cannot be started: error \(error)")
        }
        identifier = child
    }

    /// Whether the program is still there; finds out how it ended.
    mutating func isRunning() -> Bool {
        guard end == nil else { return false }
        var status: Int32 = 0
        guard waitpid(identifier, &status, WNOHANG) == identifier else { return true }
        let signal = status & 0x7F
        end = signal == 0 ? .exit(status: (status >> 8) & 0xFF) : .signal(signal)
        return false
    }
}
