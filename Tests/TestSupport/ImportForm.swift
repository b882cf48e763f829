import JSON

/// A file upload to an import route, in the format of dashboards.
package enum ImportForm {
    package static func send(
        _ file: String, to path: String, of server: TestServer, as identity: TestServer.Identity = .master,
        fields: [String: String] = [:]
    ) async throws -> TestAnswer {
        var body = ""
        for (name, value) in fields {
            body += "--limit\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n"
        }
        body += "--limit\r\nContent-Disposition: form-data; name=\"importFile\"; filename=\"export.json\"\r\n"
        body += "Content-Type: application/json\r\n\r\n\(file)\r\n--limit--\r\n"
        return try await server.send(
            "POST", path, bytes: Array(body.utf8), as: identity,
            headers: ["Content-Type": "multipart/form-data; boundary=limit"])
    }
}

extension TestAnswer {
    package var rows: [JSONValue] { self["response"]?.arrayValue ?? [] }
}
