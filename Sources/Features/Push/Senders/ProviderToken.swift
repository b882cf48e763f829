import Crypto
import JSON
import Outgoing
import Synchronization

/// Creates the token that identifies the sender to Apple.
///
/// All requests share one token. Apple rejects tokens older than an hour, and limits new ones to one every 20 minutes.
package final class ProviderToken: Sendable {
    private let key: P256.Signing.PrivateKey
    private let keyId: String
    private let teamId: String
    private let cached = Mutex<(text: String, at: Double)?>(nil)

    /// The age at which a token is replaced, in seconds.
    static let longest = 55.0 * 60
    /// The minimum age for replacing a rejected token, in seconds.
    static let shortest = 20.0 * 60

    /// - Throws: An error if the text isn't a P-256 private key.
    package init(key: String, keyId: String, teamId: String) throws {
        self.key = try P256.Signing.PrivateKey(pemRepresentation: key)
        self.keyId = keyId
        self.teamId = teamId
    }

    /// Returns a token that is less than 55 minutes old.
    ///
    /// - Parameters:
    ///   - now: The time in seconds since 1970.
    ///   - refused: A token that Apple rejected. It is replaced if it is at least 20 minutes old.
    package func text(at now: Double, refused: String? = nil) throws -> String {
        if let token = current(now, refused) { return token }
        let claims: JSONObject = ["iss": .string(teamId), "iat": .number(now.rounded(.towardZero))]
        return store(try JSONWebToken.signed(claims, keyId: keyId, by: key), now)
    }

    private func current(_ now: Double, _ refused: String?) -> String? {
        cached.withLock { cached in
            guard let cached, now - cached.at < Self.longest, now >= cached.at - 60 else { return nil }
            if cached.text == refused, now - cached.at >= Self.shortest { return nil }
            return cached.text
        }
    }

    /// Stores a new token and returns it. If two are created at the same time, both callers get the first.
    private func store(_ text: String, _ now: Double) -> String {
        cached.withLock { cached in
            if let cached, now - cached.at < Self.shortest, now >= cached.at { return cached.text }
            cached = (text, now)
            return text
        }
    }
}
