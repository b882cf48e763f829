import JSON

/// Pages, and links in mails, as tests ask for them.
extension TestServer {
    /// A link as a path below the mount.
    package static func path(_ link: String) -> String { link.replacing("http://app.example/parse", with: "") }

    /// Opens a path, or a link of a mail.
    package func open(_ path: String) async throws -> TestAnswer {
        try await send("GET", Self.path(path), as: .nobody)
    }

    /// Sends a form.
    package func form(_ path: String, _ text: String, _ headers: [String: String] = [:]) async throws -> TestAnswer {
        try await send(
            "POST", path, bytes: Array(text.utf8), as: .nobody,
            headers: ["Content-Type": "application/x-www-form-urlencoded"].merging(headers) { $1 })
    }

    /// All columns of a user that the maintenance key reads.
    package func user(_ id: String) async throws -> JSONObject {
        try await send("GET", "/classes/_User/\(id)", as: .maintenance).json.objectValue ?? [:]
    }

    /// Where the pages of resets are.
    package static let resetPath = "/apps/\(applicationID)/request_password_reset"
}

extension TestAnswer {
    /// The name of a page, as its `meta` tells it; the whole text where it is none.
    package var page: String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let start = text.firstRange(of: "<meta name=\"page\" content=\"")?.upperBound else { return text }
        return String(text[start...].prefix { $0 != "\"" })
    }

    /// Where a redirect leads to.
    package var location: String { headers["location"] ?? "" }
}
