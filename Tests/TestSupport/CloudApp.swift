import Foundation
import JSON
import TestTools

/// A temporary folder with the cloud code of an app.
public struct CloudApp: Sendable {
    public let folder: String
    public var main: String { folder + "/cloud/main.js" }

    /// The Parse SDK in the app's `node_modules`, or none.
    public enum SDK: Sendable {
        /// The SDK at the path in `PARSE_SDK`.
        case current
        /// The SDK 1.x at the path in `PARSE_SDK1`.
        case legacy
        case none

        fileprivate var path: String? {
            let environment = ProcessInfo.processInfo.environment
            return switch self {
            case .current: environment["PARSE_SDK"] ?? Checkout.path("Tests/NodeHostTests/sdk")
            case .legacy: environment["PARSE_SDK1"] ?? Checkout.path("Tests/NodeHostTests/sdk/legacy")
            case .none: nil
            }
        }
    }

    private init(_ files: [String: String], _ sdk: SDK) throws {
        folder = FileManager.default.temporaryDirectory.path + "/roost-app-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder + "/cloud", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: folder + "/node_modules", withIntermediateDirectories: true)
        if let path = sdk.path {
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/node_modules/parse", withDestinationPath: path)
        }
        for (name, text) in files { try write(text, to: name) }
    }

    public func write(_ text: String, to name: String) throws {
        try text.write(toFile: folder + "/cloud/\(name)", atomically: true, encoding: .utf8)
    }

    /// Returns the files of an app in `Tests/NodeHostTests/apps`.
    public static func files(_ name: String) throws -> [String: String] {
        let place = URL(fileURLWithPath: Checkout.path("Tests/NodeHostTests/apps/\(name)"))
        var files: [String: String] = [:]
        for file in try FileManager.default.contentsOfDirectory(atPath: place.path) {
            files[file] = try String(contentsOf: place.appendingPathComponent(file), encoding: .utf8)
        }
        return files
    }

    public static func with<R>(
        _ files: [String: String], sdk: SDK = .current, _ body: (CloudApp) async throws -> R
    ) async throws -> R {
        let app = try CloudApp(files, sdk)
        defer { try? FileManager.default.removeItem(atPath: app.folder) }
        return try await body(app)
    }

    public static func serve<R: Sendable>(
        _ files: [String: String], _ options: JSONObject? = nil, sdk: SDK = .current,
        _ body: @escaping @Sendable (TestServer, CloudApp) async throws -> R
    ) async throws -> R {
        try await with(files, sdk: sdk) { app in
            var options = options ?? [:]
            options["cloud"] = .string(app.main)
            return try await TestServer.run(options, logger: UnwrittenLog.logger()) { try await body($0, app) }
        }
    }
}
