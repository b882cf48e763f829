import CloudCode
import Encoding
import JSON
public import OrderedCollections
import ParseModel

/// The data of the server, with the rights of an authority. Each call goes the way of a client's request.
///
/// Triggers are called, and may call further ones; when sixteen stand in one another, 141 is thrown.
public struct Database: Sendable {
    private let perform: @Sendable (InternalRequest) async -> InternalReply
    private let authority: InternalRequest.Authority
    private let parent: InternalRequest.Parent?
    /// What calls hand on to triggers; nil for nothing.
    public var context: JSONObject?

    init(_ authority: Authority, _ details: CallDetails) {
        let services = details.services
        self.init(authority.resolved(for: details.call), parent: InternalRequest.Parent(details.call)) { request in
            guard let services else { return Self.noServer }
            return await services.perform(request)
        }
    }

    init(
        _ authority: InternalRequest.Authority, parent: InternalRequest.Parent?,
        perform: @escaping @Sendable (InternalRequest) async -> InternalReply
    ) {
        self.authority = authority
        self.parent = parent
        self.perform = perform
    }

    private static let noServer = InternalReply(
        status: 503, body: JSONValue.object(["error": "There is no server in this test."]).serialized())

    /// Finds objects.
    public func find(_ query: ParseQuery) async throws -> [ParseObject] {
        try await results(query).map { ParseObject(query.className, json: $0.objectValue ?? [:]) }
    }

    /// Finds objects of a class of the app.
    ///
    /// - Parameter change: Says what is asked for.
    public func find<Record: ParseRecord>(_ type: Record.Type, _ change: (inout ParseQuery) -> Void = { _ in })
        async throws -> [Record]
    {
        var query = ParseQuery(Record.className)
        change(&query)
        return try await results(query).map { try ValueDecoder.decode(from: $0) }
    }

    /// The first object that a query finds; nil when there is none.
    public func first(_ query: ParseQuery) async throws -> ParseObject? {
        var query = query
        query.limit = 1
        return try await find(query).first
    }

    /// How many objects a query finds.
    public func count(_ query: ParseQuery) async throws -> Int {
        var query = query
        query.limit = 0
        query.parameters["count"] = 1
        let answer = try await send("GET", Self.path(query.className), query.parameters)
        return answer["count"]?.numberValue.map { Int($0) } ?? 0
    }

    private func results(_ query: ParseQuery) async throws -> [JSONValue] {
        try await send("GET", Self.path(query.className), query.parameters)["results"]?.arrayValue ?? []
    }

    /// An object by its id.
    ///
    /// - Throws: 101 when none is visible.
    public func get(_ className: String, _ objectId: String) async throws -> ParseObject {
        let answer = try await send("GET", Self.path(className, objectId), [:])
        return ParseObject(className, json: answer.objectValue ?? [:])
    }

    /// An object of a class of the app by its id.
    ///
    /// - Throws: 101 when none is visible.
    public func get<Record: ParseRecord>(_ type: Record.Type, _ objectId: String) async throws -> Record {
        try ValueDecoder.decode(from: try await send("GET", Self.path(Record.className, objectId), [:]))
    }

    /// Saves what is to change of an object, or makes it.
    ///
    /// - Returns: The object as it is then.
    @discardableResult
    public func save(_ object: ParseObject) async throws -> ParseObject {
        var saved = object
        let answer = try await write(object.className, object.objectId, object.operations)
        saved.stored = object.fields
        saved.changedInside = [:]
        saved.operations = [:]
        saved.take(answer)
        if saved.updatedAt == nil { saved.updatedAt = saved.createdAt }
        return saved
    }

    /// Saves all properties of a record, or makes its object. What is nil is left as it is.
    ///
    /// - Returns: The record with its id.
    @discardableResult
    public func save<Record: ParseRecord>(_ record: Record) async throws -> Record {
        let fields = try record.fields()
        let answer = try await write(Record.className, record.objectId, fields)
        var object = ParseObject(Record.className, objectId: record.objectId)
        object.take(fields)
        object.take(answer)
        return try Record(object)
    }

    private func write(_ className: String, _ objectId: String?, _ fields: JSONObject) async throws -> JSONObject {
        let answer =
            if let objectId {
                try await send("PUT", Self.path(className, objectId), fields)
            } else {
                try await send("POST", Self.path(className), fields)
            }
        return answer.objectValue ?? [:]
    }

    /// Removes an object.
    ///
    /// - Throws: 101 when there is none that may be removed.
    public func delete(_ className: String, _ objectId: String) async throws {
        _ = try await send("DELETE", Self.path(className, objectId), [:])
    }

    /// Calls a function.
    ///
    /// - Returns: What it gives; nil for nothing.
    public func call(_ function: String, _ params: JSONObject = [:]) async throws -> JSONValue? {
        try await send("POST", "/functions/" + PercentEncoding.encode(function), params)["result"]
    }

    /// Starts a job, as the master.
    ///
    /// - Returns: The id of its row in `_JobStatus`.
    public func startJob(_ name: String, _ params: JSONObject = [:]) async throws -> String {
        let reply = try await reply("POST", "/jobs/" + PercentEncoding.encode(name), params)
        return reply.headers.first { $0.name == "X-Parse-Job-Status-Id" }?.value ?? ""
    }

    /// Sends a push, as the master: `["where": ["user": …], "data": ["alert": "…"]]`.
    ///
    /// - Returns: The id of its row in `_PushStatus`.
    /// - Throws: 115 for what cannot be sent.
    @discardableResult
    public func push(_ body: JSONObject) async throws -> String {
        let reply = try await reply("POST", "/push", body)
        return reply.headers.first { $0.name == "X-Parse-Push-Status-Id" }?.value ?? ""
    }

    /// Makes any request of the REST interface.
    ///
    /// - Parameter path: Below the mount, percent-encoded: `/users/me`.
    /// - Throws: `ParseError` for an answer that is an error.
    public func send(_ method: String, _ path: String, _ body: JSONObject) async throws -> JSONValue {
        let reply = try await reply(method, path, body)
        return reply.body.isEmpty ? .object([:]) : try JSONValue(parsing: reply.body)
    }

    private func reply(_ method: String, _ path: String, _ body: JSONObject) async throws -> InternalReply {
        try Task.checkCancellation()
        let reply = await perform(
            InternalRequest(
                method, path, body: body, authority: authority, context: context ?? [:], parent: parent))
        guard (200..<300).contains(reply.status) else { throw Self.error(reply) }
        return reply
    }

    private static func error(_ reply: InternalReply) -> ParseError {
        let body = (try? JSONValue(parsing: reply.body)) ?? .null
        let text = body["error"]?.stringValue
        guard let code = body["code"]?.numberValue.flatMap({ Int(exactly: $0) }) else {
            return ParseError(
                ParseError.operationForbidden, text ?? "The server answered with \(reply.status).")
        }
        return .ofCloudCode(code, text)
    }

    private static func path(_ className: String, _ objectId: String? = nil) -> String {
        let path = "/classes/" + PercentEncoding.encode(className)
        return objectId.map { path + "/" + PercentEncoding.encode($0) } ?? path
    }
}

/// As whom cloud code reads and writes. There is no default: who does something is always said.
public enum Authority: Sendable {
    /// As the caller: with the rights of the user, with all rights where the master key was sent.
    case asCaller
    /// With all rights.
    case asMaster
    /// As the user of a session.
    case asUser(sessionToken: String)
    /// As an anonymous client.
    case anonymous

    /// As whom the server carries a request out. With the read-only key, code that acts as its caller has no rights: it
    /// could write otherwise.
    func resolved(for call: CloudCall) -> InternalRequest.Authority {
        switch self {
        case .asMaster: .master
        case .asUser(let token): .session(token)
        case .anonymous: .anonymous
        case .asCaller:
            if call.caller.isMaster, !call.caller.isReadOnly {
                .master
            } else if let token = call.caller.sessionToken ?? call.caller.user?["sessionToken"]?.stringValue {
                .session(token)
            } else {
                .anonymous
            }
        }
    }
}
