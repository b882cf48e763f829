import JSON
import TestSupport

extension TestServer {
    func call(
        _ name: String, _ params: JSONValue = [:], as identity: Identity = .anonymous, headers: [String: String] = [:]
    ) async throws -> TestAnswer {
        try await send("POST", "/functions/\(name)", params, as: identity, headers: headers)
    }

    /// The lines of the log, newest last.
    func log() async throws -> [JSONValue] {
        try await send("GET", "/scriptlog?size=1000&order=asc", as: .master).json.arrayValue ?? []
    }

    /// Waits for a log line that contains a text.
    func logs(_ text: String) async throws -> Bool {
        try await eventually { try await log().contains { $0.text.contains(text) } }
    }
}
