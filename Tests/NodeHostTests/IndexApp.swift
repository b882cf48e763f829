import Foundation
import JSON
import NodeHost
import ServerConfiguration
import TestSupport
import TestTools

/// A temporary folder with an app that has its own index.js.
struct IndexApp: Sendable {
    let folder: String

    private init(_ files: [String: String]) throws {
        folder = FileManager.default.temporaryDirectory.path + "/roost-index-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder + "/node_modules", withIntermediateDirectories: true)
        for (name, place) in [("parse", "sdk"), ("express", "express")] {
            try FileManager.default.createSymbolicLink(
                atPath: "\(folder)/node_modules/\(name)",
                withDestinationPath: Checkout.path("Tests/NodeHostTests/\(place)"))
        }
        for (name, text) in files { try write(text, to: name) }
    }

    func write(_ text: String, to name: String) throws {
        let file = URL(fileURLWithPath: "\(folder)/\(name)")
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: file, atomically: true, encoding: .utf8)
    }

    /// Creates an app, runs `body` with it, and deletes it. Without a package.json, a default one with `main` index.js
    /// is added.
    static func with<R>(_ files: [String: String], _ body: (IndexApp) async throws -> R) async throws -> R {
        let app = try IndexApp(["package.json": #"{"main": "index.js"}"#].merging(files) { $1 })
        defer { try? FileManager.default.removeItem(atPath: app.folder) }
        return try await body(app)
    }

    /// The files of a complete app next to the tests.
    static func files(_ name: String) throws -> [String: String] {
        let place = Checkout.path("Tests/NodeHostTests/apps/index/\(name)")
        var files: [String: String] = [:]
        for file in try FileManager.default.subpathsOfDirectory(atPath: place) {
            let path = "\(place)/\(file)"
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
                continue
            }
            files[file] = try String(contentsOfFile: path, encoding: .utf8)
        }
        return files
    }

    func read(_ arguments: [String] = []) async throws -> ServedApp {
        var arguments = [folder] + arguments
        let environment = ProcessInfo.processInfo.environment
        guard let app = try await ServedApp.extract(from: &arguments, environment: environment) else {
            throw ConfigurationError("the folder is no app")
        }
        return app
    }

    static func serve<R: Sendable>(
        _ files: [String: String], _ options: JSONObject = [:], arguments: [String] = [],
        _ body: @escaping @Sendable (TestServer, TransportClient, IndexApp) async throws -> R
    ) async throws -> R {
        try await with(files) { app in
            let served = try await app.read(arguments)
            let options = served.options.merging(options.merging(["port": 0]) { $1 }) { $1 }
            return try await TestServer.run(
                options, logger: UnwrittenLog.logger(), configure: { served.configure(&$0) }
            ) { server in
                let port = URL(string: server.url)?.port ?? 0
                return try await body(server, TransportClient(port: port), app)
            }
        }
    }
}
