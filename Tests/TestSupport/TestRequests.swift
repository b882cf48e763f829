import AsyncHTTPClient
import Foundation
import JSON
import NIOCore
import NIOHTTP1

/// The answer to a request of a test.
public struct TestAnswer: Sendable {
    /// The HTTP status.
    public let status: Int
    /// The header fields, names in lower case.
    public let headers: [String: String]
    /// The bytes.
    public let bytes: [UInt8]

    /// The body as JSON; null when it is none.
    public var json: JSONValue { (try? JSONValue(parsing: bytes)) ?? .null }

    /// A member of the body.
    public subscript(key: String) -> JSONValue? { json[key] }
}

extension TestServer {
    /// All tests begin at once, and the machine may be small: connecting may take longer than usual.
    private static let client = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.timeout.connect = .seconds(60)
        configuration.redirectConfiguration = .disallow
        // Lists of lines that are alike are packed to a fraction of their size.
        configuration.decompression = .enabled(limit: .none)
        // No request of a test waits for the answer to another.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        return HTTPClient(configuration: configuration)
    }()

    /// As whom a request is made.
    public enum Identity: Sendable {
        /// With the application id and the REST key.
        case anonymous
        /// Like that, with a session token.
        case session(String)
        /// With the master key.
        case master
        /// With the maintenance key.
        case maintenance
        /// With no header of Parse's at all.
        case nobody
    }

    /// Makes a request with a JSON body.
    ///
    /// - Parameter path: Below the mount, such as `/classes/Song`, with a query string if one is wanted.
    public func send(
        _ method: String, _ path: String, _ body: JSONValue? = nil, as identity: Identity = .anonymous,
        headers: [String: String] = [:]
    ) async throws -> TestAnswer {
        var headers = headers
        if body != nil, headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
        return try await send(method, path, bytes: body?.serialized() ?? [], as: identity, headers: headers)
    }

    /// Makes a request with bytes as its body.
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

    /// Finds objects of a class.
    public func find(_ className: String, _ parameters: JSONObject? = nil, as identity: Identity = .anonymous)
        async throws
        -> TestAnswer
    {
        var body = parameters ?? [:]
        body["_method"] = "GET"
        return try await send("POST", "/classes/\(className)", .object(body), as: identity)
    }

    /// Signs a user up and gives the id and the session token.
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

    /// Creates an object and gives its id.
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

/// An answer that a helper did not expect.
public struct UnexpectedAnswer: Error, CustomStringConvertible {
    let answer: TestAnswer

    /// An answer that was not expected.
    public init(answer: TestAnswer) { self.answer = answer }

    /// The status and the body.
    public var description: String { "\(answer.status) \(String(decoding: answer.bytes, as: UTF8.self))" }
}
