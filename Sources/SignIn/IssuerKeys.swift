import Encoding
import JSON
import Outgoing

/// The keys by which issuers sign their tokens, as they publish them (RFC 7517).
///
/// Each list is fetched once and kept for as long as the issuer says, within bounds; a token with an unknown key has the
/// list fetched again, but not more than once a minute. Who waits for a list waits for the same fetch.
actor IssuerKeys {
    private struct KeyList {
        /// The keys, as they were published.
        var keys: [JSONObject]
        var expiresAt: ContinuousClock.Instant
    }

    private let caller: HTTPCaller
    private var lists: [String: KeyList] = [:]
    private var fetches: [String: Task<KeyList, any Error>] = [:]
    /// When a fetch failed: issuers that are down are left alone for a moment.
    private var failures: [String: ContinuousClock.Instant] = [:]

    /// How long a list is kept at least, and at most.
    private static let keeping = Duration.seconds(300)...Duration.seconds(86_400)
    /// When keys were asked for last because one was not on the list.
    private var renewals: [String: ContinuousClock.Instant] = [:]
    /// How long a list that was renewed for the sake of a key is taken for current, whatever key is not on it.
    private static let pause = Duration.seconds(60)
    /// How long nobody is asked after a failure.
    private static let failurePause = Duration.seconds(2)

    init(caller: HTTPCaller) { self.caller = caller }

    /// A key of an issuer.
    ///
    /// - Parameters:
    ///   - id: The id of the key, which the token names.
    ///   - url: Where the issuer publishes its keys.
    /// - Returns: Nil when the issuer has no such key.
    /// - Throws: `HTTPCallFailure` when the issuer cannot be asked.
    func key(_ id: String, at url: String) async throws -> JSONObject? {
        let now = ContinuousClock.now
        if let list = lists[url], list.expiresAt > now {
            if let key = Self.key(id, in: list) { return key }
            if fetches[url] == nil {
                if let renewal = renewals[url], renewal + Self.pause > now { return nil }
                renewals[url] = now
            }
        }
        return Self.key(id, in: try await fetched(url))
    }

    private static func key(_ id: String, in list: KeyList) -> JSONObject? {
        list.keys.first { id.hasSameBytes(as: $0["kid"]?.stringValue) }
    }

    private func fetched(_ url: String) async throws -> KeyList {
        if let fetch = fetches[url] { return try await fetch.value }
        if let failure = failures[url], failure + Self.failurePause > .now {
            throw HTTPCallFailure(description: "the keys could not be fetched a moment ago")
        }
        let fetch = Task { try await Self.fetch(url, caller) }
        fetches[url] = fetch
        defer { fetches[url] = nil }
        do {
            let list = try await fetch.value
            lists[url] = list
            failures[url] = nil
            return list
        } catch {
            failures[url] = .now
            renewals[url] = nil
            throw error
        }
    }

    private static func fetch(_ url: String, _ caller: HTTPCaller) async throws -> KeyList {
        let reply = try await caller.send(HTTPCall("GET", url))
        guard reply.isSuccess, let keys = reply.json?["keys"]?.arrayValue else {
            throw HTTPCallFailure(description: "the issuer answered \(reply.status) without keys")
        }
        let age = Duration.seconds(maximumAge(reply.header("Cache-Control") ?? ""))
        return KeyList(
            keys: keys.compactMap(\.objectValue),
            expiresAt: .now + min(max(age, keeping.lowerBound), keeping.upperBound))
    }

    /// The seconds of `max-age`; an hour where the issuer says none.
    private static func maximumAge(_ header: String) -> Int {
        for part in header.split(separator: ",") {
            let words = part.split(separator: "=").map { $0.drop { $0 == " " } }
            if words.count == 2, words[0].lowercased() == "max-age", let seconds = Int(words[1]) { return seconds }
        }
        return 3600
    }
}
