import Foundation
import Subprocess
import TestTools

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// A Python program that writes its port to the file `port` in a folder, and ends once the folder has a file `stop`.
enum HelperProgram {
    struct Ended: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs `body` with the program's port, then ends the program.
    static func run<R: Sendable>(
        _ arguments: [String], in folder: String, libraries: String? = nil,
        _ body: @escaping @Sendable (_ port: Int) async throws -> R
    ) async throws -> R {
        try await withThrowingTaskGroup(of: R?.self) { tasks in
            tasks.addTask {
                let environment = libraries.map { Environment.inherit.updating(["PYTHONPATH": $0]) } ?? .inherit
                let result = try await Subprocess.run(
                    .name("python3"), arguments: Arguments(["-B"] + arguments), environment: environment,
                    output: .discarded, error: .string(limit: 4096))
                guard FileManager.default.fileExists(atPath: folder + "/stop") else {
                    throw Ended(description: "\(arguments[0]) ended: \(result.standardError)")
                }
                return nil
            }
            tasks.addTask {
                defer { _ = FileManager.default.createFile(atPath: folder + "/stop", contents: nil) }
                while true {
                    if let text = try? String(contentsOfFile: folder + "/port", encoding: .utf8), let port = Int(text) {
                        return try await body(port)
                    }
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            var result: R?
            for try await value in tasks where value != nil { result = value }
            guard let result else { throw CancellationError() }
            return result
        }
    }
}
