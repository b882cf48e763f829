import AsyncHTTPClient
import Foundation
import JSON
import NIOCore
import NIOHTTP1

public struct TestAnswer: Sendable {
    public let status: Int
    public let headers: [String: String]
    public let bytes: [UInt8]

    public var json: JSONValue { (try? JSONValue(parsing: bytes)) ?? .null }

    public subscript(key: String) -> JSONValue? { json[key] }
}

extension TestServer {
    /// Connecting can take long, because all tests start at once and the machine may be small.
    private static let client = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.timeout.connect = .seconds(60)
        configuration.redirectConfiguration = .disallow
        // Repetitive lists of lines compress to a fraction of their size.
        configuration.decompression = .enabled(limit: .none)
        // Requests of different tests must not wait for each other.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        return HTTPClient(configuration: configuration)
    }()

    public enum Identity: Sendable {
        case anonymous
        case session(String)
        case master
        case maintenance
        case nobody
    }

    /// Sends a request with a JSON body.
    ///
    /// - Parameter path: The path below the mount path, such as `/classes/Song`, optionally with a query.
    public func send(
        _ method: String, _ path: String, _ body: JSONValue? = nil, as identity: Identity = .anonymous,
        headers: [String: String] = [:]
    ) async throws -> TestAnswer {
        var headers = headers
        if body != nil, headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
        return try await send(method, path, bytes: body?.serialized() ?? [], as: identity, headers: headers)
    }

    public func send(
        _ method: String, _ path: String, bytes: [UInt8], as identity: Identity = .anonymous,
        headers: [String: String] = [:]
    ) async throws -> TestAnswer {
        var request = HTTPClientRequest(url: path.hasPrefix("http") ? path : url + path)
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in Self.headers(identity).merging(headers, uniquingKeysWith: { $1 }) {
            request.headers.replaceOrAdd(name: name, value: value)
        }
        if !bytes.isEmpty { request.body = .bytes(bytes) }
        let response = try await Self.client.execute(request, timeout: .seconds(60))
        let buffer = try await response.body.collect(upTo: 64 * 1024 * 1024)
        var fields: [String: String] = [:]
        for (name, value) in response.headers { fields[name.lowercased()] = value }
        return TestAnswer(status: Int(response.status.code), headers: fields, bytes: Array(buffer.readableBytesView))
    }

    public func find(_ className: String, _ parameters: JSONObject? = nil, as identity: Identity = .anonymous)
        async throws
        -> TestAnswer
    {
        var body = parameters ?? [:]
        body["_method"] = "GET"
        return try await send("POST", "/classes/\(className)", .object(body), as: identity)
    }

    public func signUp(_ name: String, password: String = "secret", _ fields: JSONObject? = nil) async throws -> (
        id: String, token: String
    ) {
        var body = fields ?? [:]
        body["username"] = .string(name)
        body["password"] = .string(password)
        let answer = try await send("POST", "/users", .object(body))
        guard let id = answer["objectId"]?.stringValue, let token = answer["sessionToken"]?.stringValue else {
            throw UnexpectedAnswer(answer: answer)
        }
        return (id, token)
    }

    public func create(_ className: String, _ fields: JSONObject, as identity: Identity = .anonymous) async throws
        -> String
    {
        let answer = try await send("POST", "/classes/\(className)", .object(fields), as: identity)
        guard answer.status == 201, let id = answer["objectId"]?.stringValue else {
            throw UnexpectedAnswer(answer: answer)
        }
        return id
    }

    private static func headers(_ identity: Identity) -> [String: String] {
        var headers = ["X-Parse-Application-Id": applicationID]
        switch identity {
        case .nobody: return [:]
        case .anonymous: headers["X-Parse-REST-API-Key"] = restKey
        case .session(let token):
            headers["X-Parse-REST-API-Key"] = restKey
            headers["X-Parse-Session-Token"] = token
        case .master: headers["X-Parse-Master-Key"] = masterKey
        case .maintenance: headers["X-Parse-Maintenance-Key"] = maintenanceKey
        }
        return headers
    }
}

public struct UnexpectedAnswer: Error, CustomStringConvertible {
    let answer: TestAnswer

    public init(answer: TestAnswer) { self.answer = answer }

    public var description: String { "\(answer.status) \(String(decoding: answer.bytes, as: UTF8.self))" }
}
