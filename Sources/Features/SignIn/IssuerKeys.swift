import Encoding
import JSON
import Outgoing

/// The keys by which issuers sign their tokens, as they publish them (RFC 7517).
///
/// Each list is fetched once and kept for as long as the issuer says, within bounds; a token with an unknown key has the
/// list fetched again, but not more than once a minute. Who waits for a list waits for the same fetch. So it is with what
/// issuers publish about themselves.
struct IssuerKeys: Sendable {
    private let lists: SharedFetches<[JSONObject]>
    private let descriptions: SharedFetches<JSONObject>

    /// Minimum and maximum cache time.
    private static let keeping = Duration.seconds(300)...Duration.seconds(86_400)

    /// - Parameter caller: What fetches them.
    init(caller: HTTPCaller) {
        lists = SharedFetches { url in
            let (json, age) = try await Self.fetch(url, caller)
            guard let keys = json["keys"]?.arrayValue else {
                throw HTTPCallFailure(description: "the issuer's response has no keys")
            }
            return .init(value: keys.compactMap(\.objectValue), age: age)
        }
        descriptions = SharedFetches { url in
            let (json, age) = try await Self.fetch(url, caller)
            return .init(value: json, age: age)
        }
    }

    /// The keys of an issuer with an id. Some issuers give one id to keys of several purposes or algorithms.
    ///
    /// - Parameters:
    ///   - id: The key id in the token's header.
    ///   - url: Where the issuer publishes its keys.
    /// - Throws: `HTTPCallFailure` when the issuer cannot be asked.
    func keys(_ id: String, at url: String) async throws -> [JSONObject] {
        Self.keys(id, in: try await lists.value(at: url) { !Self.keys(id, in: $0).isEmpty })
    }

    /// What an issuer publishes about itself.
    ///
    /// - Parameter url: Where it does.
    /// - Throws: `HTTPCallFailure` when the issuer cannot be asked.
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

    /// The seconds of `max-age`, or an hour if there is none.
    private static func maximumAge(_ header: String) -> Int {
        for part in header.split(separator: ",") {
            let words = part.split(separator: "=").map { $0.drop { $0 == " " } }
            if words.count == 2, words[0].lowercased() == "max-age", let seconds = Int(words[1]) { return seconds }
        }
        return 3600
    }
}
