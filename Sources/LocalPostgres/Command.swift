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

    private static func runNow(_ command: [String], in folder: String, log: String) throws -> (Int32, String) {
        guard FileManager.default.createFile(atPath: log, contents: nil, attributes: [.posixPermissions: 0o600]) else {
            throw LocalPostgres.Failure("\(log) cannot be written")
        }
        let child = try start(command, in: folder, log: log)
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0 {
            guard errno == EINTR else { throw LocalPostgres.Failure("\(command[0]) was lost: error \(errno)") }
        }
        let text = (try? Data(contentsOf: URL(fileURLWithPath: log))).map { String(decoding: $0, as: UTF8.self) } ?? ""
        let signal = status & 0x7f
        return (signal == 0 ? (status >> 8) & 0xff : 128 + signal, text)
    }

    private static func start(_ command: [String], in folder: String, log: String) throws -> pid_t {
        let setsid = "/usr/bin/setsid"
        let session = FileManager.default.isExecutableFile(atPath: setsid) ? [setsid, "-w"] : []
        return try ChildProcess.start(
            ["/bin/sh", "-c", "cd -- \"$1\" && shift && exec \"$@\"", "sh", folder] + session + command, output: log)
    }
}
