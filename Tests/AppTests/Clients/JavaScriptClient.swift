import Foundation
import JSON
import TestSupport

/// Sends requests like the JavaScript SDK: every call is a POST of `text/plain` with the method and all credentials in
/// the body.
struct JavaScriptClient: WireClient {
    let server: TestServer
    var sessionToken: String?
    var installationID = UUID().uuidString.lowercased()

    init(_ server: TestServer) { self.server = server }

    func request(_ method: String, _ path: String, _ parameters: JSONObject = [:]) async throws -> TestAnswer {
        var body = parameters
        if method != "POST" { body["_method"] = .string(method) }
        body["_ApplicationId"] = .string(TestServer.applicationID)
        body["_JavaScriptKey"] = "testJavaScript"
        body["_ClientVersion"] = "js5.3.0"
        body["_InstallationId"] = .string(installationID)
        body["_SessionToken"] = sessionToken.map { .string($0) }
        return try requireReadable(
            await server.send(
                "POST", "/" + path, bytes: JSONValue.object(body).serialized(), as: .nobody,
                headers: ["Content-Type": "text/plain"]))
    }

    func upload(_ name: String, _ bytes: [UInt8], type: String) async throws -> TestAnswer {
        try await request(
            "POST", "files/\(name)",
            [
                "base64": .string(Data(bytes).base64EncodedString()), "_ContentType": .string(type),
                "fileData": ["metadata": [:], "tags": [:]],
            ])
    }
}
