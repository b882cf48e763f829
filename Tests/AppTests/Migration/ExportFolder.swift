import App
import Foundation
import JSON
import Subprocess
import Synchronization
import TestSupport

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// A temporary folder with a data folder and exports of a database.
struct ExportFolder: Sendable {
    let path: String
    let databaseURI: String

    static func run(_ databaseURI: String, _ body: (ExportFolder) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.path + "/roost-export-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path + "/data", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(ExportFolder(path: path, databaseURI: databaseURI))
    }

    /// The configuration as command-line arguments.
    var arguments: [String] {
        [
            "--databaseURI", databaseURI, "--dataDir", path + "/data", "--appId", TestServer.applicationID,
            "--masterKey", TestServer.masterKey, "--serverURL", "http://files.example/parse",
        ]
    }

    @discardableResult
    func export(
        _ name: String = "out", _ further: [String] = [],
        change: (inout Export.Request) -> Void = { _ in },
        progress: @escaping @Sendable (Export.Progress) -> Void = { _ in }
    ) async throws -> Export.Report {
        var request = Export.Request(folder: path + "/" + name)
        change(&request)
        let deployment = try Deployment(arguments: arguments + further, environment: [:])
        return try await Export(deployment, request, progress: progress).run()
    }

    func json(_ file: String, in name: String = "out") throws -> JSONValue {
        try JSONValue(parsing: Array(try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)/\(file)"))))
    }

    func objects(_ file: String, in name: String = "out") throws -> [String: JSONValue] {
        let list = try json(file, in: name)["results"]?.arrayValue ?? []
        return Dictionary(list.map { ($0["objectId"]?.stringValue ?? "", $0) }) { first, _ in first }
    }

    func entries(_ name: String = "") throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: path + "/" + name))
    }

    /// Runs a program to its end, and returns its status and combined output.
    static func command(_ command: [String], in folder: String) async throws -> (status: Int32, output: String) {
        let result = try await Subprocess.run(
            .path(FilePath(command[0])), arguments: Arguments(Array(command.dropFirst())),
            workingDirectory: FilePath(folder), output: .string(limit: 1 << 20), error: .combinedWithOutput)
        let status: Int32 =
            switch result.terminationStatus {
            case .exited(let code): code
            case .signaled(let signal): 128 + signal
            }
        return (status, result.standardOutput)
    }
}

/// Tells other tasks to stop.
final class StopSign: Sendable {
    private let state = Mutex(false)

    var isShown: Bool { state.withLock { $0 } }

    func show() { state.withLock { $0 = true } }
}
