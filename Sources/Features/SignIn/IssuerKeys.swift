import Encoding
import JSON
import Outgoing

/// Fetches the keys with which issuers sign their tokens (RFC 7517), and their discovery documents.
///
/// Each list is cached for as long as the issuer allows, within limits. An unknown key id triggers another fetch, but
/// at most once a minute. Concurrent callers share one fetch.
struct IssuerKeys: Sendable {
    private let lists: SharedFetches<[JSONObject]>
    private let descriptions: SharedFetches<JSONObject>

    private static let keeping = Duration.seconds(300)...Duration.seconds(86_400)

    init(caller: HTTPCaller) {
        lists = SharedFetches { url in
            let (json, age) = try await Self.fetch(url, caller)
            guard let keys = json["keys"]?.arrayValue else {
                throw HTTPCallFailure(description: "the issuer's response has no keys")
            }
            return (keys.compactMap(\.objectValue), age)
        }
        descriptions = SharedFetches { url in try await Self.fetch(url, caller) }
    }

    /// Returns the issuer's keys with the given id. Some issuers reuse an id for several purposes or algorithms.
    ///
    /// - Parameters:
    ///   - id: The key id in the token's header.
    ///   - url: The URL of the issuer's keys.
    /// - Throws: `HTTPCallFailure` if the keys can't be fetched.
    func keys(_ id: String, at url: String) async throws -> [JSONObject] {
        Self.keys(id, in: try await lists.value(at: url) { !Self.keys(id, in: $0).isEmpty })
    }

    /// Returns the discovery document of an issuer.
    ///
    /// - Throws: `HTTPCallFailure` if it can't be fetched.
    func description(at url: String) async throws -> JSONObject { try await descriptions.value(at: url) }

    private static func keys(_ id: String, in list: [JSONObject]) -> [JSONObject] {
        list.filter { id.hasSameBytes(as: $0["kid"]?.stringValue) }
    }

    private static func fetch(_ url: String, _ caller: HTTPCaller) async throws -> (JSONObject, Duration) {
        let reply = try await caller.send(HTTPCall("GET", url))
        guard reply.isSuccess, let json = reply.json?.objectValue else {
            throw HTTPCallFailure(description: "the issuer responded with \(reply.status)")
        }
        let age = Duration.seconds(maximumAge(reply.header("Cache-Control") ?? ""))
        return (json, min(max(age, keeping.lowerBound), keeping.upperBound))
    }

    /// Returns the seconds of `max-age`, or an hour if the field has none.
    private static func maximumAge(_ header: String) -> Int {
        for part in header.split(separator: ",") {
            let words = part.split(separator: "=").map { $0.drop { $0 == " " } }
            if words.count == 2, words[0].lowercased() == "max-age", let seconds = Int(words[1]) { return seconds }
        }
        return 3600
    }
}
