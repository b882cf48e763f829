import Foundation

/// Runs programs to their end.
enum Command {
    /// Runs a command and gives its exit status and what it printed.
    ///
    /// The output goes through a file, because a server that the command leaves behind would hold a pipe open for ever.
    /// The command gets a session of its own, so that Ctrl-C at the terminal reaches Roost alone.
    static func run(_ command: [String], in folder: String, log: String) async throws -> (status: Int32, output: String)
    {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try runNow(command, in: folder, log: log) })
            }
        }
    }

    /// Foundation's Process does not do: it learns of the end by a socket that the child inherits, and so does a server
    /// that the child leaves behind, which would keep it waiting for as long as that server lives.
    private static func runNow(_ command: [String], in folder: String, log: String) throws -> (Int32, String) {
        guard FileManager.default.createFile(atPath: log, contents: nil, attributes: [.posixPermissions: 0o600]) else {
            throw LocalPostgres.Failure("\(log) cannot be written")
        }
        let child = try spawn(command, in: folder, log: log)
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0 {
            guard errno == EINTR else { throw LocalPostgres.Failure("\(command[0]) was lost: error \(errno)") }
        }
        let text = (try? Data(contentsOf: URL(fileURLWithPath: log))).map { String(decoding: $0, as: UTF8.self) } ?? ""
        let signal = status & 0x7f
        return (signal == 0 ? (status >> 8) & 0xff : 128 + signal, text)
    }

    private static func spawn(_ command: [String], in folder: String, log: String) throws -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
        #else
            var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_APPEND, 0)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // What this process holds open, PostgreSQL shall not: whoever waits for the end of a socket or pipe of ours would
        // wait for PostgreSQL's.
        for descriptor in Int32(3)..<4096 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        let setsid = "/usr/bin/setsid"
        let session = FileManager.default.isExecutableFile(atPath: setsid) ? [setsid, "-w"] : []
        let inFolder = ["/bin/sh", "-c", "cd -- \"$1\" && shift && exec \"$@\"", "sh", folder] + session + command
        var arguments = inFolder.map { strdup($0) }
        arguments.append(nil)
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let error = posix_spawn(&child, inFolder[0], &actions, nil, arguments, environ)
        guard error == 0 else {
            throw LocalPostgres.Failure("\(command[0]) cannot be started: error \(error)")
        }
        return child
    }
}
