import Foundation
import JSON
import TestSupport

/// Sends requests like the Objective-C SDK.
///
/// GET and DELETE commands with parameters become a POST with `_method` in the body, query scalars are strings,
/// children are saved in a batch, files are raw bytes, and `X-Parse-Request-Id` stays the same for the life of the
/// process.
struct IOSClient: WireClient {
    let server: TestServer
    var sessionToken: String?
    var userID = ""
    var installationID = UUID().uuidString.lowercased()
    var requestID = UUID().uuidString

    init(_ server: TestServer) { self.server = server }

    var user: JSONValue { .pointer("_User", userID) }

    // MARK: Requests

    private func headers(session: Bool = true) -> [String: String] {
        var headers = [
            "X-Parse-Application-Id": TestServer.applicationID,
            "X-Parse-Client-Key": "testClient",
            "X-Parse-Client-Version": "i6.1.1",
            "X-Parse-OS-Version": "17.5 (21F79)",
            "X-Parse-App-Build-Version": "42",
            "X-Parse-App-Display-Version": "1.3",
            "X-Parse-Installation-Id": installationID,
            "X-Parse-Request-Id": requestID,
        ]
        if session { headers["X-Parse-Session-Token"] = sessionToken }
        return headers
    }

    func run(_ method: String, _ path: String, _ parameters: JSONObject? = nil, session: Bool = true) async throws
        -> TestAnswer
    {
        guard var body = parameters else {
            return try requireReadable(
                await server.send(method, path, bytes: [], as: .nobody, headers: headers(session: session)))
        }
        var method = method
        if ["GET", "HEAD", "DELETE"].contains(method) {
            body["_method"] = .string(method)
            method = "POST"
        }
        var fields = headers(session: session)
        fields["Content-Type"] = "application/json; charset=utf-8"
        return try requireReadable(
            await server.send(method, path, bytes: JSONValue.object(body).serialized(), as: .nobody, headers: fields))
    }

    // MARK: Users

    /// `PFUser.signUpInBackground`.
    func signUp(_ name: String, password: String = "secret", _ fields: JSONObject = [:]) async throws -> IOSClient {
        var body = fields
        body["username"] = .string(name)
        body["password"] = .string(password)
        return try loggedIn(await run("POST", "/users", body).succeeded())
    }

    /// `PFUser.logInWithUsername`.
    func logIn(_ name: String, password: String = "secret") async throws -> IOSClient {
        try loggedIn(await logInAnswer(name, password: password).succeeded())
    }

    /// `PFUser.logInWithAuthTypeInBackground`, which `PFFacebookUtils`, `PFAppleUtils` and `PFAnonymousUtils` call.
    ///
    /// - Returns: The logged-in client, and whether the user is new, which the SDK derives from the status.
    func logIn(with provider: Name, _ data: JSONObject) async throws -> (client: IOSClient, isNew: Bool) {
        let answer = try await run("POST", "/users", ["authData": .object([provider: .object(data)])]).succeeded()
        return (try loggedIn(answer), answer.status == 201)
    }

    func logInAnswer(_ name: String, password: String) async throws -> TestAnswer {
        try await run(
            "GET", "/login", ["username": .string(name), "password": .string(password)], session: false)
    }

    private func loggedIn(_ answer: TestAnswer) throws -> IOSClient {
        var client = self
        client.sessionToken = try answer.string("sessionToken")
        client.userID = try answer.string("objectId")
        return client
    }

    /// `PFUser.become` with the stored token.
    func me() async throws -> TestAnswer { try await run("GET", "/users/me") }

    /// `PFUser.logOut`, a POST without a body or a content type.
    func logOut() async throws -> TestAnswer { try await run("POST", "/logout") }

    // MARK: Objects

    func create(_ className: String, _ fields: JSONObject) async throws -> JSONValue {
        let answer = try await run("POST", "/classes/\(className)", fields).succeeded()
        return .pointer(className, try answer.string("objectId"))
    }

    func update(_ pointer: JSONValue, _ fields: JSONObject) async throws -> TestAnswer {
        try await run("PUT", path(pointer), fields)
    }

    func updateUser(_ fields: JSONObject) async throws -> TestAnswer { try await update(user, fields) }

    /// `object.deleteInBackground`, sent as DELETE.
    func delete(_ pointer: JSONValue) async throws -> TestAnswer { try await run("DELETE", path(pointer)) }

    /// `object.fetchInBackground`, sent as GET.
    func fetch(_ pointer: JSONValue) async throws -> TestAnswer { try await run("GET", path(pointer)) }

    private func path(_ pointer: JSONValue) -> String {
        "/classes/\(pointer["className"]?.stringValue ?? "")/\(pointer["objectId"]?.stringValue ?? "")"
    }

    /// Creates several objects in a batch, like `PFObject.saveAll` and saves with unsaved children.
    func saveAll(_ className: String, _ bodies: [JSONObject]) async throws -> [JSONValue] {
        let answers = try await batch(
            bodies.map { ["method": "POST", "path": batchPath("/classes/\(className)"), "body": .object($0)] })
        return try answers.map { answer in
            guard let id = answer["success"]?["objectId"]?.stringValue else {
                throw UnreadableAnswer(status: 200, text: answer.description)
            }
            return .pointer(className, id)
        }
    }

    func deleteAll(_ pointers: [JSONValue]) async throws -> [JSONValue] {
        try await batch(pointers.map { ["method": "DELETE", "path": batchPath(path($0))] })
    }

    /// Sends a batch. The SDK expects one result per request, in order.
    func batch(_ requests: [JSONObject]) async throws -> [JSONValue] {
        let answer = try await run("POST", "/batch", ["requests": .array(requests.map { .object($0) })]).succeeded()
        guard let answers = answer.json.arrayValue, answers.count == requests.count else {
            throw UnreadableAnswer(status: answer.status, text: answer.text)
        }
        return answers
    }

    // MARK: Queries

    /// `PFQuery.findObjectsInBackground`.
    func find(
        _ className: String, where conditions: JSONObject = [:], order: String? = nil, include: String? = nil,
        keys: String? = nil, limit: Int? = nil, skip: Int? = nil
    ) async throws -> [JSONValue] {
        var body: JSONObject = [:]
        if !conditions.isEmpty { body["where"] = .object(conditions) }
        body["order"] = order.map { .string($0) }
        body["include"] = include.map { .string($0) }
        body["keys"] = keys.map { .string($0) }
        body["limit"] = limit.map { .string(String($0)) }
        body["skip"] = skip.map { .string(String($0)) }
        let answer = try await run("GET", "/classes/\(className)", body).succeeded()
        guard let results = answer["results"]?.arrayValue else {
            throw UnreadableAnswer(status: answer.status, text: answer.text)
        }
        return results
    }

    /// `PFQuery.countObjectsInBackground`.
    func count(_ className: String, where conditions: JSONObject) async throws -> Int? {
        let body: JSONObject = ["where": .object(conditions), "count": "1", "limit": "0"]
        let answer = try await run("GET", "/classes/\(className)", body).succeeded()
        return answer["count"]?.numberValue.map { Int($0) }
    }

    // MARK: Files

    /// Uploads a file as raw bytes, and returns the field value that the SDK stores.
    func upload(_ name: String, _ bytes: [UInt8], type: String?) async throws -> JSONValue {
        var fields = headers()
        fields["Content-Type"] = type
        let answer = try requireReadable(
            await server.send("POST", "/files/\(name)", bytes: bytes, as: .nobody, headers: fields))
        let file = try answer.succeeded()
        return ["__type": "File", "name": .string(try file.string("name")), "url": .string(try file.string("url"))]
    }

    /// Downloads a file with a plain GET, without any Parse headers.
    func download(_ file: JSONValue?, range: String? = nil) async throws -> TestAnswer {
        try await server.send(
            "GET", file?["url"]?.stringValue ?? "", bytes: [], as: .nobody, headers: range.map { ["Range": $0] } ?? [:])
    }
}
