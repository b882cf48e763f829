import Crypto
import Encoding
import JSON
import Outgoing
import ParseModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What holds for the tokens of an issuer, and the texts that parse-server refuses them with.
struct TokenCheck: Sendable {
    /// Where the issuer publishes its keys.
    var keys: String
    /// The names of the issuer; a token has one of them.
    var issuers: [String]
    /// The audiences of the app; a token is meant for one of them.
    var audiences: [String]
    var algorithms = ["RS256"]
    /// The claim that names the app where it is not the audience.
    var partyClaim: Name?
    /// The text for a token of another issuer.
    var wrongIssuer = "id token not issued by correct OpenID provider - expected: "
    /// The text for a token of another user.
    var wrongSubject = "auth data is invalid for this user."

    /// Seconds by which the clocks of issuers may be wrong.
    private static let leeway = 30.0

    static func refused(_ text: String) -> ParseError { ParseError(ParseError.objectNotFound, text) }

    /// Checks a token: who signed it, for whom, until when, and whom it names.
    ///
    /// - Parameters:
    ///   - text: The token, as the client sent it.
    ///   - id: The id that the client claims.
    ///   - nonce: What the client had signed with it; nil for nothing.
    /// - Returns: The claims.
    /// - Throws: 101.
    func claims(_ text: String, of id: String?, nonce: String?, _ issuer: IssuerKeys) async throws -> JSONObject {
        guard let token = JSONWebToken(text), let keyId = token.header["kid"]?.stringValue else {
            throw Self.refused("provided token does not decode as JWT")
        }
        guard let algorithm = token.header["alg"]?.stringValue, algorithms.contains(algorithm) else {
            throw Self.refused("invalid algorithm")
        }
        let candidates: [JSONObject]
        do {
            candidates = try await issuer.keys(keyId, at: keys)
        } catch is HTTPCallFailure {
            candidates = []
        }
        guard !candidates.isEmpty else { throw Self.refused("Unable to find matching key for Key ID: \(keyId)") }
        guard candidates.contains(where: { token.isSigned(by: $0, algorithm) }) else {
            throw Self.refused("invalid signature")
        }
        try check(token, id, nonce)
        return token.claims
    }

    /// Checks what a token says, whose signature was checked before; throws 101.
    func check(_ token: JSONWebToken, _ id: String?, _ nonce: String?) throws {
        let now = Date().timeIntervalSince1970
        guard let end = token.time("exp"), now < end + Self.leeway else { throw Self.refused("jwt expired") }
        if let begin = token.time("nbf"), now < begin - Self.leeway { throw Self.refused("jwt not active") }
        let from = token.claims["iss"]?.stringValue
        guard issuers.contains(where: { $0.hasSameBytes(as: from) }) else {
            throw Self.refused("\(wrongIssuer)\(issuers.joined(separator: " or ")) | from: \(from ?? "undefined")")
        }
        let parties = partyClaim.map { [token.claims[$0]?.stringValue].compactMap { $0 } } ?? token.audiences
        guard parties.contains(where: { party in audiences.contains { $0.hasSameBytes(as: party) } }) else {
            throw Self.refused("jwt audience invalid. expected: \(audiences.joined(separator: ", "))")
        }
        guard let subject = token.claims["sub"]?.stringValue, !subject.isEmpty, id.map(subject.hasSameBytes) ?? true
        else { throw Self.refused(wrongSubject) }
        if let nonce, !Self.isNonce(token.claims["nonce"]?.stringValue, of: nonce) {
            throw Self.refused("jwt nonce invalid.")
        }
    }

    /// Whether a token was signed with the client's nonce, or with its hash, as Apple's apps do.
    private static func isNonce(_ signed: String?, of nonce: String) -> Bool {
        nonce.hasSameBytes(as: signed)
            || SHA256.hash(data: Array(nonce.utf8)).hexadecimal.hasSameBytes(as: signed)
    }
}
