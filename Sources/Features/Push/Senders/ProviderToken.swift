import Crypto
import JSON
import Outgoing
import Synchronization

/// The token by which Apple knows who sends. The same one is used for all requests, and made anew in good time: Apple takes
/// none that is older than an hour, and none that is made anew more often than every 20 minutes.
package final class ProviderToken: Sendable {
    private struct Kept {
        var text: String
        var at: Double
    }

    private let key: P256.Signing.PrivateKey
    private let keyId: String
    private let teamId: String
    private let kept = Mutex<Kept?>(nil)

    /// For how many seconds a token is used, and for how many it is not replaced.
    static let longest = 55.0 * 60
    static let shortest = 20.0 * 60

    /// Makes a signer; throws when the text is no key of the curve P-256.
    package init(key: String, keyId: String, teamId: String) throws {
        self.key = try P256.Signing.PrivateKey(pemRepresentation: key)
        self.keyId = keyId
        self.teamId = teamId
    }

    /// The token for now.
    ///
    /// - Parameters:
    ///   - now: The time, in seconds since 1970.
    ///   - refused: A token that Apple did not take any more: another is made if it is old enough.
    package func text(at now: Double, refused: String? = nil) throws -> String {
        if let token = current(now, refused) { return token }
        let claims: JSONObject = ["iss": .string(teamId), "iat": .number(now.rounded(.towardZero))]
        return keep(try JSONWebToken.signed(claims, keyId: keyId, by: key), now)
    }

    private func current(_ now: Double, _ refused: String?) -> String? {
        kept.withLock { kept in
            guard let kept, now - kept.at < Self.longest, now >= kept.at - 60 else { return nil }
            if kept.text == refused, now - kept.at >= Self.shortest { return nil }
            return kept.text
        }
    }

    /// If two are made at the same time, the first is used.
    private func keep(_ text: String, _ now: Double) -> String {
        kept.withLock { kept in
            if let kept, now - kept.at < Self.shortest, now >= kept.at { return kept.text }
            kept = Kept(text: text, at: now)
            return text
        }
    }
}
