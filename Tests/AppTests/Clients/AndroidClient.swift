import Foundation
import JSON
import TestSupport

/// Sends requests like the Android SDK: methods like the iOS SDK, but `where` as JSON text in a string, and every other
/// query parameter as a string.
struct AndroidClient: WireClient {
    let server: TestServer
    var sessionToken: String?
    var installationID = UUID().uuidString.lowercased()

    init(_ server: TestServer) { self.server = server }

    private var headers: [String: String] {
        var headers = [
            "X-Parse-Application-Id": TestServer.applicationID,
            "X-Parse-Client-Key": "testClient",
            "X-Parse-App-Build-Version": "42",
            "X-Parse-App-Display-Version": "1.3",
            "X-Parse-OS-Version": "14",
            "User-Agent": "Parse Android SDK API Level 34",
            "X-Parse-Installation-Id": installationID,
        ]
        headers["X-Parse-Session-Token"] = sessionToken
        return headers
    }

    func run(_ method: String, _ path: String, _ parameters: JSONObject? = nil) async throws -> TestAnswer {
        var method = method
        var fields = headers
        var bytes: [UInt8] = []
        if var body = parameters {
            if method == "GET" || method == "DELETE" {
                body["_method"] = .string(method)
                method = "POST"
            }
            fields["Content-Type"] = "application/json"
            bytes = JSONValue.object(body).serialized()
        }
        return try requireReadable(await server.send(method, path, bytes: bytes, as: .nobody, headers: fields))
    }

    func find(_ className: String, where conditions: JSONValue, _ parameters: [String: String] = [:]) async throws
        -> TestAnswer
    {
        var body: JSONObject = ["where": .string(conditions.text)]
        for (name, value) in parameters { body[name] = .string(value) }
        return try await run("GET", "/classes/\(className)", body).succeeded()
    }

    func upload(_ name: String, _ bytes: [UInt8], type: String) async throws -> TestAnswer {
        var fields = headers
        fields["Content-Type"] = type
        return try requireReadable(
            await server.send("POST", "/files/\(name)", bytes: bytes, as: .nobody, headers: fields))
    }
}
