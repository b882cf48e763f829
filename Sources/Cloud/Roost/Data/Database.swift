import CloudCode
import Encoding
import JSON
public import OrderedCollections
import ParseModel

/// Reads and writes the server's data with the rights of an ``Authority``. Each call is handled like a client's
/// request, including permissions and triggers.
///
/// Triggers can call further triggers. More than 16 nested calls throw 141.
public struct Database: Sendable {
    private let authority: InternalRequest.Authority
    private let parent: InternalRequest.Parent
    private let services: CloudServices?
    /// The context passed to triggers, or nil for an empty one.
    public var context: JSONObject?

    init(_ authority: Authority, _ details: CallDetails) {
        self.authority = authority.resolved(for: details.call)
        parent = InternalRequest.Parent(details.call)
        services = details.services
    }

    private static let noServer = InternalReply(
        status: 503, body: JSONValue.object(["error": "Database requests need a running server"]).serialized())

    /// Returns the objects that match a query.
    public func find(_ query: ParseQuery) async throws -> [ParseObject] {
        try await results(query).map { ParseObject(query.className, json: $0.objectValue ?? [:]) }
    }

    /// Returns the objects of a record type that match a query.
    ///
    /// - Parameters:
    ///   - type: The record type. Its class is queried.
    ///   - change: Sets the conditions and options of the query.
    public func find<Record: ParseRecord>(_ type: Record.Type, _ change: (inout ParseQuery) -> Void = { _ in })
        async throws -> [Record]
    {
        var query = ParseQuery(Record.className)
        change(&query)
        return try await results(query).map { try ValueDecoder.decode(from: $0) }
    }

    /// Returns the first object that matches a query, or nil if none does.
    public func first(_ query: ParseQuery) async throws -> ParseObject? {
        var query = query
        query.limit = 1
        return try await find(query).first
    }

    /// Returns the number of objects that match a query.
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

    /// Returns an object by its id.
    ///
    /// - Throws: `ParseError`, for example 101 if the object doesn't exist or isn't readable.
    public func get(_ className: String, _ objectId: String) async throws -> ParseObject {
        let answer = try await send("GET", Self.path(className, objectId), [:])
        return ParseObject(className, json: answer.objectValue ?? [:])
    }

    /// Returns the record with the given id.
    ///
    /// - Throws: 101 if the object doesn't exist or isn't readable, another `ParseError`, or `DecodingError`.
    public func get<Record: ParseRecord>(_ type: Record.Type, _ objectId: String) async throws -> Record {
        try ValueDecoder.decode(from: try await send("GET", Self.path(Record.className, objectId), [:]))
    }

    /// Creates an object, or saves the changed fields of a stored one.
    ///
    /// - Returns: The object with the changes and the values that the server set.
    @discardableResult
    public func save(_ object: ParseObject) async throws -> ParseObject {
        var saved = object
        let answer = try await write(object.className, object.objectId, object.operations)
        saved.stored = object.fields
        saved.changedInside = [:]
        saved.operations = [:]
        saved.merge(answer)
        if saved.updatedAt == nil { saved.updatedAt = saved.createdAt }
        return saved
    }

    /// Creates the object of a record, or saves the properties of a stored one. Nil properties are left unchanged.
    ///
    /// - Returns: The record with its id and the server's values.
    @discardableResult
    public func save<Record: ParseRecord>(_ record: Record) async throws -> Record {
        let fields = try record.fields()
        let answer = try await write(Record.className, record.objectId, fields)
        var object = ParseObject(Record.className, objectId: record.objectId)
        object.merge(fields)
        object.merge(answer)
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

    /// Deletes an object.
    ///
    /// - Throws: `ParseError`, for example 101 if the object doesn't exist or can't be deleted.
    public func delete(_ className: String, _ objectId: String) async throws {
        _ = try await send("DELETE", Self.path(className, objectId), [:])
    }

    /// Calls a cloud function.
    ///
    /// - Returns: The function's result, or nil if it returns nothing.
    public func call(_ function: String, _ params: JSONObject = [:]) async throws -> JSONValue? {
        try await send("POST", "/functions/" + PercentEncoding.encode(function), params)["result"]
    }

    /// Starts a job. Requires the rights of the master key.
    ///
    /// - Returns: The id of the job's row in `_JobStatus`.
    public func startJob(_ name: String, _ params: JSONObject = [:]) async throws -> String {
        let reply = try await reply("POST", "/jobs/" + PercentEncoding.encode(name), params)
        return reply.headers.first { $0.name == "X-Parse-Job-Status-Id" }?.value ?? ""
    }

    /// Sends a push notification, for example `["where": ["user": …], "data": ["alert": "…"]]`. Requires the rights of
    /// the master key.
    ///
    /// - Returns: The id of the push's row in `_PushStatus`.
    /// - Throws: `ParseError`, for example 115 if the push is invalid.
    @discardableResult
    public func push(_ body: JSONObject) async throws -> String {
        let reply = try await reply("POST", "/push", body)
        return reply.headers.first { $0.name == "X-Parse-Push-Status-Id" }?.value ?? ""
    }

    /// Sends any request of the REST interface.
    ///
    /// - Parameters:
    ///   - method: The HTTP method, for example `GET`.
    ///   - path: The percent-encoded path below the mount path, for example `/users/me`.
    ///   - body: The JSON body, or for `GET` the query parameters.
    /// - Throws: `ParseError` if the response is an error, or `CancellationError` if the task is cancelled.
    public func send(_ method: String, _ path: String, _ body: JSONObject) async throws -> JSONValue {
        let reply = try await reply(method, path, body)
        return reply.body.isEmpty ? .object([:]) : try JSONValue(parsing: reply.body)
    }

    private func reply(_ method: String, _ path: String, _ body: JSONObject) async throws -> InternalReply {
        try Task.checkCancellation()
        let request = InternalRequest(
            method, path, body: body, authority: authority, context: context ?? [:], parent: parent)
        let reply = await services?.perform(request) ?? Self.noServer
        guard (200..<300).contains(reply.status) else { throw Self.error(reply) }
        return reply
    }

    private static func error(_ reply: InternalReply) -> ParseError {
        let body = (try? JSONValue(parsing: reply.body)) ?? .null
        let text = body["error"]?.stringValue
        guard let code = body["code"]?.numberValue.flatMap({ Int(exactly: $0) }) else {
            return ParseError(
                ParseError.operationForbidden, text ?? "The server responded with status \(reply.status).")
        }
        return .ofCloudCode(code, text)
    }

    private static func path(_ className: String, _ objectId: String? = nil) -> String {
        let path = "/classes/" + PercentEncoding.encode(className)
        return objectId.map { path + "/" + PercentEncoding.encode($0) } ?? path
    }
}

/// The rights of cloud code when it reads or writes data. Every access must name them explicitly.
public enum Authority: Sendable {
    /// The caller's rights: those of the user, or all rights with master-key permissions that aren't read-only.
    case asCaller
    /// All rights, as with the master key.
    case asMaster
    /// The rights of a session's user.
    case asUser(sessionToken: String)
    /// The rights of a client that isn't logged in.
    case anonymous

    /// Resolves the authority for a call. A read-only master key grants no rights, because internal requests with the
    /// master key can write.
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
