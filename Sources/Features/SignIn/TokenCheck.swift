import Crypto
import Encoding
import JSON
import Outgoing
import ParseModel
import Platform

/// Checks the tokens of an issuer, with parse-server's error texts.
struct TokenCheck: Sendable {
    /// The URL of the issuer's keys.
    var keys: String
    /// The accepted issuer names.
    var issuers: [String]
    /// The accepted audiences.
    var audiences: [String]
    var algorithms = ["RS256"]
    /// The claim that names the app, or nil to use the audience.
    var partyClaim: Name?
    /// The beginning of the error text for a token of another issuer. The accepted issuers and the token's follow.
    var wrongIssuer = "id token not issued by correct OpenID provider - expected: "
    /// The error text for a token of another user.
    var wrongSubject = "auth data is invalid for this user."

    /// The tolerated clock difference, in seconds.
    private static let leeway = 30.0

    static func refused(_ text: String) -> ParseError { ParseError(ParseError.objectNotFound, text) }

    /// Checks the signature, issuer, audience, validity period and user of a token.
    ///
    /// - Parameters:
    ///   - text: The encoded token.
    ///   - id: The user id that the client claims, or nil to accept any.
    ///   - nonce: The nonce that the client used, or nil for none.
    /// - Returns: The claims.
    /// - Throws: `ParseError` 101.
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

    /// Checks the claims of a token whose signature is already verified.
    ///
    /// - Throws: `ParseError` 101.
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

    /// Returns whether the token contains the client's nonce or, as in Apple's apps, its hash.
    private static func isNonce(_ signed: String?, of nonce: String) -> Bool {
        nonce.hasSameBytes(as: signed)
            || SHA256.hash(data: Array(nonce.utf8)).hexadecimal.hasSameBytes(as: signed)
    }
}
