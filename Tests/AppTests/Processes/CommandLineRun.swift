import Foundation
import JSON
import Subprocess
import TestSupport
import Testing

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// A complete run of the program `roost`.
struct CommandLineRun {
    /// The exit status, or nil if a signal ended the program.
    let status: Int32?
    let output: String
    let errors: String

    /// The lines on standard error except log lines.
    var messages: [String] {
        errors.split(separator: "\n").filter { $0.hasPrefix("roost: ") }.map { String($0.dropFirst("roost: ".count)) }
    }

    /// A key in every configuration. It must not appear in any output.
    private static let secret = "Swordfish"

    /// Runs the program in a new folder, and checks that it prints neither keys nor Swift and Foundation descriptions.
    ///
    /// - Parameters:
    ///   - file: The content of roost.json in the folder, or nil for no file.
    ///   - launcher: A program that executes `roost`, with its arguments.
    static func roost(
        _ arguments: [String], file: String? = nil, launcher: [String] = [],
        environment: [Environment.Key: String?] = [:],
        prepare: (_ folder: String) throws -> Void = { _ in }
    ) async throws -> CommandLineRun {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-command-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        if let file { try Data(file.utf8).write(to: URL(fileURLWithPath: folder + "/roost.json")) }
        try prepare(folder)
        let command = launcher + [try CrashServer.findBinary()] + arguments
        let result = try await Subprocess.run(
            .path(FilePath(command[0])), arguments: Arguments(Array(command.dropFirst())),
            environment: .inherit.updating(environment),
            workingDirectory: FilePath(folder), output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
        var status: Int32?
        if case .exited(let code) = result.terminationStatus { status = code }
        let run = CommandLineRun(
            status: status, output: result.standardOutput, errors: result.standardError)
        let traces = [
            secret, "NSCocoaErrorDomain", "Error Domain", "ParseError(", "errno:", "Optional(", "failedToLoad",
            "could not be completed", "SocketAddressError",
        ]
        for trace in traces {
            #expect(!(run.output + run.errors).contains(trace), "\(arguments): \(run.output)\(run.errors)")
        }
        #expect(!run.messages.contains { $0.contains("SQLSTATE") }, "\(run.errors)")
        return run
    }

    static func configuration(_ options: JSONObject = [:]) throws -> String {
        let usual: JSONObject = [
            "appId": "app", "masterKey": .string(secret), "maintenanceKey": .string(secret + "2"), "host": "127.0.0.1",
            "logLevel": "warn", "connectionTimeout": 300,
        ]
        return JSONValue.object(usual.merging(options) { $1 }).text
    }
}
