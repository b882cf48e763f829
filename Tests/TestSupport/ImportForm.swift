import JSON

/// A request that brings a file in a form, as dashboards send it.
package enum ImportForm {
    /// Sends a file to one of the import routes.
    ///
    /// - Parameter path: Below the mount, such as `/import_data/Song`.
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
    /// What an import says of each row.
    package var rows: [JSONValue] { self["response"]?.arrayValue ?? [] }
}
