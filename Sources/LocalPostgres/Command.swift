import Foundation

/// Runs programs to their end.
enum Command {
    /// Runs a command and gives its exit status and what it printed.
    ///
    /// The output goes through a file, because a server that the command leaves behind would hold a pipe open for ever.
    /// The command gets a session of its own, so that Ctrl-C at the terminal reaches Roost alone.
    static func run(_ command: [String], in folder: String, log: String) async throws -> (status: Int32, output: String)
    {
        let wrapped =
            FileManager.default.isExecutableFile(atPath: "/usr/bin/setsid")
            ? ["/usr/bin/setsid", "-w"] + command : command
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try runNow(wrapped, in: folder, log: log) })
            }
        }
    }

    private static func runNow(_ command: [String], in folder: String, log: String) throws -> (Int32, String) {
        _ = FileManager.default.createFile(atPath: log, contents: nil, attributes: [.posixPermissions: 0o600])
        guard let path = command.first, let output = FileHandle(forWritingAtPath: log) else {
            throw LocalPostgres.Failure("\(log) cannot be written")
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = Array(command.dropFirst())
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        try process.run()
        process.waitUntilExit()
        try? output.close()
        let text = (try? Data(contentsOf: URL(fileURLWithPath: log))).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return (process.terminationStatus, text)
    }
}
