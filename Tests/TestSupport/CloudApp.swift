import Foundation
import JSON
import TestTools

/// An app with cloud code, in a folder of its own that is removed with the test.
public struct CloudApp: Sendable {
    /// The folder.
    public let folder: String
    /// The file that the option `cloud` names.
    public var main: String { folder + "/cloud/main.js" }

    /// The SDK that an app has: the one that an environment variable names, or a stand-in.
    public enum SDK: Sendable {
        /// A current one, by `PARSE_SDK`.
        case current
        /// One of the versions 1.x, by `PARSE_SDK1`.
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

    /// Makes an app.
    ///
    /// - Parameter files: The files of the folder `cloud`, by name.
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

    /// Writes a file of the folder `cloud`.
    public func write(_ text: String, to name: String) throws {
        try text.write(toFile: folder + "/cloud/\(name)", atomically: true, encoding: .utf8)
    }

    /// The files of an app that lies beside the tests.
    public static func files(_ name: String) throws -> [String: String] {
        let place = URL(fileURLWithPath: Checkout.path("Tests/NodeHostTests/apps/\(name)"))
        var files: [String: String] = [:]
        for file in try FileManager.default.contentsOfDirectory(atPath: place.path) {
            files[file] = try String(contentsOf: place.appendingPathComponent(file), encoding: .utf8)
        }
        return files
    }

    /// Makes an app, runs `body` with it, and removes it.
    public static func with<R>(
        _ files: [String: String], sdk: SDK = .current, _ body: (CloudApp) async throws -> R
    ) async throws -> R {
        let app = try CloudApp(files, sdk)
        defer { try? FileManager.default.removeItem(atPath: app.folder) }
        return try await body(app)
    }

    /// Starts a server with an app, runs `body` with it, and stops it.
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
