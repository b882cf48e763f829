import Foundation

/// Runs programs to their end.
///
/// Not by Foundation's `Process`: it tells the end of a program by a socket that everything the program leaves behind
/// inherits, so a command that starts a server would never be seen to end.
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

    private static func runNow(_ command: [String], in folder: String, log: String) throws -> (Int32, String) {
        guard let path = command.first else { throw LocalPostgres.Failure("no command was given") }
        let process = try spawn(path, command, folder, log)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { throw LocalPostgres.Failure("\(path) could not be waited for") }
        }
        let text = (try? Data(contentsOf: URL(fileURLWithPath: log))).map { String(decoding: $0, as: UTF8.self) } ?? ""
        // The low seven bits are the signal that ended the program, the next byte its exit status.
        let signal = status & 0x7F
        return (signal == 0 ? (status >> 8) & 0xFF : 128 + signal, text)
    }

    #if !canImport(Darwin)
        /// `POSIX_SPAWN_SETSID`, which the C library shows to programs in C alone.
        private static let setSession: Int16 = 0x80
    #endif

    /// Starts a program whose standard output and error go to a file; no other open file is handed on.
    private static func spawn(_ path: String, _ command: [String], _ folder: String, _ log: String) throws -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #else
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        #if canImport(Darwin)
            posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSID | POSIX_SPAWN_CLOEXEC_DEFAULT))
        #else
            for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
                if let descriptor = Int32(name), descriptor > 2 {
                    posix_spawn_file_actions_addclose(&actions, descriptor)
                }
            }
            posix_spawnattr_setflags(&attributes, setSession)
        #endif
        // The shell changes the folder, which not every system lets `posix_spawn` do, and becomes the program.
        let words = ["sh", "-c", "cd \"$1\" && shift && exec \"$@\"", "sh", folder] + command
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        arguments.append(nil)
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, "/bin/sh", &actions, &attributes, arguments, environ)
        guard failure == 0 else {
            throw LocalPostgres.Failure("\(path) cannot be run: \(String(cString: strerror(failure)))")
        }
        return process
    }
}
