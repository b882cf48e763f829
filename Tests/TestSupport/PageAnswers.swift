import JSON

extension TestServer {
    package static func path(_ link: String) -> String { link.replacing("http://app.example/parse", with: "") }

    package func open(_ path: String) async throws -> TestAnswer {
        try await send("GET", Self.path(path), as: .nobody)
    }

    package func form(_ path: String, _ text: String, _ headers: [String: String] = [:]) async throws -> TestAnswer {
        try await send(
            "POST", path, bytes: Array(text.utf8), as: .nobody,
            headers: ["Content-Type": "application/x-www-form-urlencoded"].merging(headers) { $1 })
    }

    package func user(_ id: String) async throws -> JSONObject {
        try await send("GET", "/classes/_User/\(id)", as: .maintenance).json.objectValue ?? [:]
    }

    package static let resetPath = "/apps/\(applicationID)/request_password_reset"
}

extension TestAnswer {
    /// The page's name in its `meta` element, or the whole text if it has none.
    package var page: String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let start = text.firstRange(of: "<meta name=\"page\" content=\"")?.upperBound else { return text }
        return String(text[start...].prefix { $0 != "\"" })
    }

    package var location: String { headers["location"] ?? "" }
}
