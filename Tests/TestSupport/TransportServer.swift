import FileStorage
import Foundation
import HTTP
import JSON
import Logging
import NIOPosix
import Operations
import ParseModel
import ParseStorage
import Postgres
import REST
import ServerConfiguration
import TestTools

/// Responds with a description of the request, so that a test sees it as routes do.
package struct EchoHandler: RequestHandler {
    package struct Unexpected: Error {}

    /// The paths of requests, in order of arrival.
    package var arrivals = Lines()
    /// Holds back requests for the path `/gate` until it is opened.
    package let gate = Latch()

    package init() {}

    package func respond(to envelope: Envelope) async throws -> Reply {
        arrivals.append(envelope.rawPath)
        switch envelope.path.first {
        case "parse-error":
            throw ParseError(Int(envelope.path[1]) ?? 0, "exact", publicMessage: "Permission denied")
        case "fault": throw Forbidden.masterKeyRequired
        case "unexpected": throw Unexpected()
        case "slow":
            try await Task.sleep(for: .milliseconds(300))
        case "seconds":
            try await Task.sleep(for: .seconds(Int(envelope.path[1]) ?? 0))
        case "gate": await gate.wait()
        case "stuck":
            try await Task.sleep(for: .seconds(300))
        case "large":
            let text = String(repeating: "a", count: 1024 * 1024 * (Int(envelope.path[1]) ?? 0))
            return Reply(body: .text(text, contentType: "text/plain"))
        case "line-break":
            return Reply(headers: [("X-Test", "a\r\nX-Evil: b\0c")], body: .json(Array("{}".utf8)))
        case "unknown":
            throw HTTPError.noRoute(method: envelope.methodName, path: envelope.rawPath)
        default: break
        }
        return .object([
            "method": .string(envelope.method.rawValue),
            "path": .array(envelope.path.map { .string($0) }),
            "query": .object(envelope.query),
            "queryText": .object(envelope.queryText),
            "body": .object(envelope.body),
            "power": .string("\(envelope.power)"),
            "applicationID": envelope.credentials.applicationID.map { .string($0) } ?? .null,
            "sessionToken": envelope.credentials.sessionToken.map { .string($0) } ?? .null,
            "installationID": envelope.credentials.installationID.map { .string($0) } ?? .null,
            "clientVersion": envelope.credentials.clientVersion.map { .string($0) } ?? .null,
            "context": envelope.credentials.context.map { .object($0) } ?? .null,
            "address": .string(envelope.origin.address),
            "mountURL": .string(envelope.mountURL),
            "isOnEventLoop": .bool(MultiThreadedEventLoopGroup.currentEventLoop != nil),
        ])
    }
}

/// HTTP servers without a database. Tests with sessions and objects need ``TestServer``.
package enum TransportServer {
    package static let application = ["X-Parse-Application-Id": "app"]
    package static let client = ["X-Parse-Application-Id": "app", "X-Parse-REST-API-Key": "rest"]
    package static let master = ["X-Parse-Application-Id": "app", "X-Parse-Master-Key": "master"]

    package static func configuration(mountPath: String = "/parse") throws -> Configuration {
        try Configuration.load(
            file: nil, environment: [:],
            flags: [
                "--appId", "app", "--masterKey", "master", "--readOnlyMasterKey", "readonly", "--maintenanceKey",
                "maintenance", "--restAPIKey", "rest", "--javascriptKey", "js", "--mountPath", mountPath,
            ]
        ).configuration
    }

    package static func run(
        mountPath: String = "/parse",
        handler: EchoHandler = EchoHandler(),
        limits: HTTPServer.Limits = HTTPServer.Limits(),
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        directory: String? = nil,
        cipher: FileCipher? = nil,
        additions: HTTPServer.Additions = HTTPServer.Additions(),
        certificate: ServerCertificate? = nil,
        adjust: (inout Configuration) throws -> Void = { _ in },
        body: (TransportClient) async throws -> Void
    ) async throws {
        var configuration = try configuration(mountPath: mountPath)
        configuration.maxUploadSize = 100_000
        try adjust(&configuration)
        var limits = limits
        limits.body = configuration.maxUploadSize
        let folder = if let directory { directory } else { temporaryDirectory() }
        let client = PostgresClient(configuration: PostgresConfiguration(connectionString: ""), logger: logger)
        let catalog = SchemaCatalog(client: client, senderId: "test", refusesMixedMembership: false, logger: logger)
        let disk = DiskStorage(directory: folder)
        let backend = Backend(
            configuration: configuration, store: ObjectStore(client: client, catalog: catalog, logger: logger),
            files: cipher.map { EncryptedStorage(disk, cipher: $0) } ?? disk, logger: logger)
        let files = FileRoutes(beside: ParseRoutes(backend: backend, logger: logger))
        let server = HTTPServer(
            host: "127.0.0.1", port: 0,
            handler: try Dispatcher(configuration, handler: handler, files: files, logger: logger),
            crossOrigin: CrossOrigin(origins: configuration.allowOrigin, extraHeaders: configuration.allowHeaders),
            certificate: certificate, limits: limits, additions: additions, logger: logger)
        let running = Task { try await server.run() }
        let outcome = await Result.awaiting { try await body(TransportClient(port: try await server.boundPort)) }
        running.cancel()
        _ = try? await running.value
        if FileManager.default.fileExists(atPath: folder) { try FileManager.default.removeItem(atPath: folder) }
        try outcome.get()
    }

    package static func temporaryDirectory() -> String {
        NSTemporaryDirectory() + "roost-files-\(UInt64.random(in: .min ... .max))"
    }
}
