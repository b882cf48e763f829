import Foundation
import JSON
import TestTools

/// A trace collector that decodes spans with OpenTelemetry's own library.
public struct SpanCollector: Sendable {
    public let address: String
    private let folder: String

    public static func run<R: Sendable>(_ body: @escaping @Sendable (SpanCollector) async throws -> R) async throws -> R
    {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-spans-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let command = ["python3", Checkout.path("Tests/TestSupport/span_collector.py"), folder]
        return try await Program.run(command, environment: ["PYTHONPATH": Checkout.pythonLibraries]) {
            var port: String?
            let isUp = try await eventually {
                port = try? String(contentsOfFile: folder + "/port", encoding: .utf8)
                return port != nil
            }
            guard isUp, let port else { throw Failure() }
            return try await body(SpanCollector(address: "http://127.0.0.1:\(port)", folder: folder))
        }
    }

    struct Failure: Error, CustomStringConvertible {
        var description: String { "the collector does not start: scripts/test_libraries.sh installs what it needs" }
    }

    /// The received spans without duplicates, because unacknowledged spans are sent again.
    public var spans: [JSONValue] {
        let text = (try? String(contentsOfFile: folder + "/spans", encoding: .utf8)) ?? ""
        var ids: Set<String> = []
        return text.components(separatedBy: "\n").compactMap { try? JSONValue(parsing: Array($0.utf8)) }
            .filter { span in span["spanId"]?.stringValue.map { ids.insert($0).inserted } ?? true }
    }

    /// Rejects all requests while busy.
    public func setBusy(_ isBusy: Bool) {
        if isBusy {
            _ = FileManager.default.createFile(atPath: folder + "/busy", contents: nil)
        } else {
            try? FileManager.default.removeItem(atPath: folder + "/busy")
        }
    }

    public var hasRefused: Bool { FileManager.default.fileExists(atPath: folder + "/refused") }
}
