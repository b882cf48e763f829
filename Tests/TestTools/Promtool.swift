import Foundation

/// Prometheus' own program, which checks metrics and rules. `scripts/test_libraries.sh` gets it.
public enum Promtool {
    /// What a run came to.
    public struct Outcome: Sendable {
        /// The exit status.
        public let status: Int32
        /// What it wrote.
        public let output: String
    }

    /// Runs it.
    ///
    /// - Parameters:
    ///   - arguments: What it is asked for, as `check metrics`.
    ///   - input: What it reads.
    /// - Throws: When there is no such program.
    public static func run(_ arguments: [String], input: String = "") throws -> Outcome {
        let process = Process()
        let own = Checkout.path(".build/prometheus/usr/bin/promtool")
        if FileManager.default.isExecutableFile(atPath: own) {
            process.executableURL = URL(fileURLWithPath: own)
            process.arguments = arguments
        } else {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = ["promtool"] + arguments
        }
        // By a file: a pipe that nobody reads yet holds no more than a part of the text.
        let folder = FileManager.default.temporaryDirectory
        let file = folder.appendingPathComponent("roost-promtool-\(UUID().uuidString)")
        try Data(input.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let output = Pipe()
        process.standardInput = try FileHandle(forReadingFrom: file)
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Outcome(status: process.terminationStatus, output: text)
    }
}
