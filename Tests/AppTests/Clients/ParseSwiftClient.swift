import Foundation
import JSON
import TestSupport

/// Sends requests like ParseSwift: real methods, `Content-Type: application/json` on every request, JSON in the query
/// string, and a new `X-Parse-Request-Id` on every POST, PUT and PATCH.
struct ParseSwiftClient: WireClient {
    let server: TestServer
    var sessionToken: String?
    var installationID = UUID().uuidString.lowercased()

    init(_ server: TestServer) { self.server = server }

    private func headers(_ method: String, requestID: String?) -> [String: String] {
        var headers = [
            "X-Parse-Application-Id": TestServer.applicationID,
            "X-Parse-Client-Key": "testClient",
            "X-Parse-Client-Version": "swift4.14.2",
            "X-Parse-Installation-Id": installationID,
            "Content-Type": "application/json",
        ]
        headers["X-Parse-Session-Token"] = sessionToken
        if ["POST", "PUT", "PATCH"].contains(method) {
            headers["X-Parse-Request-Id"] = requestID ?? UUID().uuidString.lowercased()
        }
        return headers
    }

    /// Sends a command.
    ///
    /// - Parameters:
    ///   - query: The query parameters, sent in order of their names.
    ///   - requestID: The id of a request that is retried.
    func run(
        _ method: String, _ path: String, query: [String: String] = [:], _ body: JSONObject? = nil,
        requestID: String? = nil
    ) async throws -> TestAnswer {
        var components = URLComponents()
        components.path = path
        if !query.isEmpty {
            components.queryItems = query.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }
        }
        let answer = try requireReadable(
            await server.send(
                method, components.string ?? path, bytes: body.map { JSONValue.object($0).serialized() } ?? [],
                as: .nobody, headers: headers(method, requestID: requestID)))
        // ParseSwift treats a response with a string under either key as an error, whatever the status.
        if answer.status < 300, answer["error"]?.stringValue != nil || answer["message"]?.stringValue != nil {
            throw UnreadableAnswer(status: answer.status, text: answer.text)
        }
        return answer
    }

    func upload(_ name: String, _ bytes: [UInt8], type: String) async throws -> TestAnswer {
        var fields = headers("POST", requestID: nil)
        fields["Content-Type"] = type
        return try requireReadable(
            await server.send("POST", "/files/\(name)", bytes: bytes, as: .nobody, headers: fields))
    }
}
