import Crypto
import CryptoExtras
import Foundation
import JSON
import Outgoing
import TestSupport
import Testing

/// Signing and verifying tokens without a server.
@Suite struct JSONWebTokenTests {
    /// A token to reject, with a key and an algorithm.
    private struct Attempt {
        let name: String
        let token: String
        let key: JSONObject
        let algorithm: String

        init(_ name: String, _ token: String, _ key: JSONObject, _ algorithm: String) {
            self.name = name
            self.token = token
            self.key = key
            self.algorithm = algorithm
        }

        var isAccepted: Bool { JSONWebToken(token)?.isSigned(by: key, algorithm) ?? false }
    }

    private let claims: JSONObject = ["sub": "kim", "exp": 2_000_000_000]
    private let rsa: _RSA.Signing.PrivateKey
    private let curve = P256.Signing.PrivateKey()
    /// The public keys as JWKs.
    private let rsaKey: JSONObject
    private let curveKey: JSONObject

    init() throws {
        rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        rsaKey = try Self.published(rsa.publicKey)
        let point = curve.publicKey.rawRepresentation
        curveKey = [
            "kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(point.prefix(32))),
            "y": .string(Base64URL.encode(point.suffix(32))),
        ]
    }

    private static func published(_ key: _RSA.Signing.PublicKey) throws -> JSONObject {
        let numbers = try key.getKeyPrimitives()
        return [
            "kty": "RSA", "n": .string(Base64URL.encode(numbers.modulus)),
            "e": .string(Base64URL.encode(numbers.publicExponent)),
        ]
    }

    private func token(_ header: JSONObject, _ sign: (Data) throws -> Data) throws -> String {
        let signed = try IdentityKey.unsigned(claims, header)
        return "\(signed).\(Base64URL.encode(try sign(Data(signed.utf8))))"
    }

    private func byRSA(_ bytes: Data) throws -> Data {
        try rsa.signature(for: bytes, padding: .insecurePKCS1v1_5).rawRepresentation
    }

    private func byCurve(_ bytes: Data) throws -> Data { try curve.signature(for: bytes).rawRepresentation }

    private func code(_ bytes: Data, _ secret: Data) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: secret)))
    }

    /// Changes the unused bits of the last Base64 character.
    private static func withOtherUnusedBits(_ text: String) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let last = alphabet.firstIndex { $0 == text.last } ?? 0
        return text.dropLast() + String(alphabet[last + 1])
    }

    @Test("Signs with ES256 and RS256, and verifies with the public keys")
    func signing() throws {
        let tokens = [
            ("RS256", try JSONWebToken.signed(claims, keyId: "one", by: rsa), rsaKey),
            ("ES256", try JSONWebToken.signed(claims, keyId: "one", by: curve), curveKey),
        ]
        for (algorithm, text, key) in tokens {
            let token = try #require(JSONWebToken(text))
            #expect(token.header == ["alg": .string(algorithm), "typ": "JWT", "kid": "one"])
            #expect(token.claims == claims)
            #expect(!text.contains("="))
            #expect(token.isSigned(by: key, algorithm))
            let forSignatures = key.merging(["use": "sig", "alg": .string(algorithm), "kid": "one"]) { $1 }
            #expect(token.isSigned(by: forSignatures, algorithm))
        }
        let unnamed = try #require(JSONWebToken(JSONWebToken.signed(claims, by: curve)))
        #expect(unnamed.header == ["alg": "ES256", "typ": "JWT"])
        // Padded members of a key are accepted.
        let padded = curveKey.mapValues { $0.stringValue?.utf8.count == 43 ? .string("\($0.stringValue ?? "")=") : $0 }
        #expect(unnamed.isSigned(by: padded, "ES256"))
    }

    @Test("Rejects tokens whose algorithm differs from the key's, whatever their header says")
    func algorithms() throws {
        let byNobody = try IdentityKey.unsigned(claims, ["alg": "none"])
        let signedByRSA = try JSONWebToken.signed(claims, by: rsa)
        let signedByCurve = try JSONWebToken.signed(claims, by: curve)
        var attempts: [Attempt] = []
        for (key, right) in [(rsaKey, "RS256"), (curveKey, "ES256")] {
            for algorithm in ["RS256", "ES256", "none", "HS256", "RS512", "PS256", "ES384", ""] {
                attempts.append(Attempt("none as \(algorithm)", byNobody + ".", key, algorithm))
                if algorithm != right {
                    attempts.append(Attempt("RS256 as \(algorithm)", signedByRSA, key, algorithm))
                    attempts.append(Attempt("ES256 as \(algorithm)", signedByCurve, key, algorithm))
                }
            }
            for header: JSONObject in [
                ["alg": "none"], ["alg": "NONE"], ["alg": ""], [:], ["alg": .null], ["alg": ["RS256", "ES256"]],
                ["alg": "rs256"], ["alg": "es256"], ["alg": "RS256 "], ["alg": "ES256\u{0}"], ["alg": "HS256"],
            ] {
                attempts.append(Attempt("\(header) by RSA", try token(header, byRSA), key, right))
                attempts.append(Attempt("\(header) by a curve", try token(header, byCurve), key, right))
            }
        }
        let secrets: [Data] = [
            Data(rsa.publicKey.pemRepresentation.utf8), rsa.publicKey.derRepresentation,
            rsa.publicKey.pkcs1DERRepresentation, try rsa.publicKey.getKeyPrimitives().modulus, Data(),
        ]
        for secret in secrets {
            for algorithm in ["HS256", "RS256"] {
                let forged = try token(["alg": "HS256"]) { code($0, secret) }
                attempts.append(Attempt("HS256 by the public key", forged, rsaKey, algorithm))
                let dressed = try token(["alg": "RS256"]) { code($0, secret) }
                attempts.append(Attempt("HS256 labeled as RS256", dressed, rsaKey, algorithm))
            }
        }
        for (header, key) in [("ES256", rsaKey), ("RS256", curveKey)] {
            for algorithm in ["RS256", "ES256"] {
                for sign in [byRSA, byCurve] {
                    let swapped = try token(["alg": .string(header)], sign)
                    attempts.append(Attempt("\(header) of another kind of key", swapped, key, algorithm))
                }
            }
        }
        for attempt in attempts {
            #expect(!attempt.isAccepted, "\(attempt.name), \(attempt.algorithm), \(attempt.token)")
        }
    }

    @Test("Verifies HS256 signatures with the secret, only if the header names HS256")
    func secrets() throws {
        func isSigned(_ text: String, bySecret secret: String) -> Bool {
            JSONWebToken(text)?.isSigned(bySecret: secret) ?? false
        }
        let secret = "a secret"
        let bySecret = try token(["alg": "HS256"]) { code($0, Data(secret.utf8)) }
        #expect(isSigned(bySecret, bySecret: secret))
        #expect(!isSigned(bySecret, bySecret: "another"))
        #expect(!isSigned(bySecret + "=", bySecret: secret))
        for algorithm: JSONValue in ["RS256", "none", "HS512", .null] {
            let other = try token(["alg": algorithm]) { code($0, Data(secret.utf8)) }
            #expect(!isSigned(other, bySecret: secret), "\(algorithm)")
        }
        let unsigned = try IdentityKey.unsigned(claims, ["alg": "HS256"])
        #expect(!isSigned(unsigned + ".", bySecret: secret))
        #expect(!isSigned(bySecret.dropLast(2) + "", bySecret: secret))
    }

    @Test("Rejects keys that are too short, incomplete or meant for another use")
    func keys() throws {
        let short = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1024))
        let byShort = try token(["alg": "RS256"]) {
            try short.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation
        }
        let signedByRSA = try JSONWebToken.signed(claims, by: rsa)
        let signedByCurve = try JSONWebToken.signed(claims, by: curve)
        var attempts = [
            Attempt("1024 bits", byShort, try Self.published(short.publicKey), "RS256"),
            Attempt(
                "another RSA key", signedByRSA,
                try Self.published(_RSA.Signing.PrivateKey(keySize: .bits2048).publicKey), "RS256"),
        ]
        let changes: [(String, JSONValue?)] = [
            ("use", "enc"), ("use", ""), ("alg", "none"), ("alg", "HS256"), ("alg", "RS512"), ("alg", "PS256"),
            ("alg", "ES384"), ("kty", nil), ("kty", "oct"), ("kty", "OKP"), ("kty", "rsa"), ("kty", "ec"),
        ]
        let ofRSA: [(String, JSONValue?)] = [
            ("kty", "EC"), ("alg", "ES256"), ("n", nil), ("e", nil), ("n", ""), ("e", ""), ("e", "AQ"), ("e", "AA"),
            ("n", "AQAB"), ("n", 5), ("n", "*"),
        ]
        let ofCurve: [(String, JSONValue?)] = [
            ("kty", "RSA"), ("alg", "RS256"), ("crv", nil), ("crv", "P-384"), ("crv", "secp256k1"), ("x", nil),
            ("y", nil), ("x", ""), ("y", ""), ("x", curveKey["y"]), ("y", curveKey["x"]), ("x", 5), ("x", "*"),
            ("x", .string(Base64URL.encode(Data(count: 32)))),
        ]
        for (name, value) in changes + ofRSA {
            var key = rsaKey
            key[name] = value
            attempts.append(Attempt("RSA: \(name) \(value ?? "gone")", signedByRSA, key, "RS256"))
        }
        for (name, value) in changes + ofCurve {
            var key = curveKey
            key[name] = value
            attempts.append(Attempt("curve: \(name) \(value ?? "gone")", signedByCurve, key, "ES256"))
        }
        for attempt in attempts { #expect(!attempt.isAccepted, "\(attempt.name)") }
    }

    @Test("Rejects signatures of the wrong format or length, and modified tokens")
    func signatures() throws {
        let signedByRSA = try JSONWebToken.signed(claims, by: rsa)
        let signedByCurve = try JSONWebToken.signed(claims, by: curve)
        let changed = Base64URL.encode(Data(#"{"sub":"eve"}"#.utf8))
        var attempts: [Attempt] = []
        let forms: [(String, (Data) throws -> Data)] = [
            ("nothing", { _ in Data() }), ("zeros", { try Data(count: byRSA($0).count) }),
            ("ones", { try Data(repeating: 0xFF, count: byRSA($0).count) }), ("shorter", { try byRSA($0).dropLast() }),
            ("longer", { try byRSA($0) + [0] }), ("with a leading zero", { try Data([0]) + byRSA($0) }),
            ("by PSS", { try rsa.signature(for: $0, padding: .PSS).rawRepresentation }),
            (
                "of SHA-512",
                { try rsa.signature(for: SHA512.hash(data: $0), padding: .insecurePKCS1v1_5).rawRepresentation }
            ),
        ]
        let formsOfCurve: [(String, (Data) throws -> Data)] = [
            ("nothing", { _ in Data() }), ("zeros", { _ in Data(count: 64) }),
            ("ones", { _ in Data(repeating: 0xFF, count: 64) }), ("shorter", { try byCurve($0).dropLast() }),
            ("longer", { try byCurve($0) + [0] }), ("with a leading zero", { try Data([0]) + byCurve($0) }),
            ("in DER", { try curve.signature(for: $0).derRepresentation }),
            ("of SHA-512", { try curve.signature(for: SHA512.hash(data: $0)).rawRepresentation }),
        ]
        for (name, sign) in forms {
            attempts.append(Attempt("RSA: \(name)", try token(["alg": "RS256"], sign), rsaKey, "RS256"))
        }
        for (name, sign) in formsOfCurve {
            attempts.append(Attempt("curve: \(name)", try token(["alg": "ES256"], sign), curveKey, "ES256"))
        }
        for (text, key, algorithm) in [(signedByRSA, rsaKey, "RS256"), (signedByCurve, curveKey, "ES256")] {
            let parts = text.split(separator: ".").map(String.init)
            let malformed: [(String, String)] = [
                ("other claims", "\(parts[0]).\(changed).\(parts[2])"), ("no signature", "\(parts[0]).\(parts[1])"),
                ("an empty signature", "\(parts[0]).\(parts[1])."), ("no claims", "\(parts[0])..\(parts[2])"),
                ("no header", ".\(parts[1]).\(parts[2])"), ("a trailing dot", text + "."),
                ("a leading dot", "." + text),
                ("a fourth part", "\(text).\(parts[2])"), ("a fifth part", "\(text).\(parts[1]).\(parts[2])"),
                ("padding", text + "="), ("more padding", text + "=="), ("a trailing space", text + " "),
                ("a leading space", " " + text), ("a line feed", text + "\n"),
                ("a line feed inside", "\(text.dropLast(4))\n\(text.suffix(4))"), ("a NUL", text + "\u{0}"),
                ("a padded header", "\(parts[0])=.\(parts[1]).\(parts[2])"),
                ("padded claims", "\(parts[0]).\(parts[1])==.\(parts[2])"),
                ("a combining dot", text.replacing(".", with: ".\u{307}")),
                ("percent signs", text.replacing(".", with: "%2E")), ("nothing", ""), ("dots", ".."),
                ("other unused bits", Self.withOtherUnusedBits(text)),
            ]
            for (name, text) in malformed { attempts.append(Attempt(name, text, key, algorithm)) }
        }
        for attempt in attempts { #expect(!attempt.isAccepted, "\(attempt.name), \(attempt.algorithm)") }
    }

    @Test("Rejects standard Base64 in place of Base64url")
    func alphabet() throws {
        var signature = ""
        var signed = ""
        while !signature.contains("-") || !signature.contains("_") {
            let text = try JSONWebToken.signed(claims, keyId: UUID().uuidString, by: rsa)
            let parts = text.split(separator: ".").map(String.init)
            signed = "\(parts[0]).\(parts[1])"
            signature = parts[2]
        }
        #expect(Attempt("", "\(signed).\(signature)", rsaKey, "RS256").isAccepted)
        for (from, to) in [("-", "+"), ("_", "/")] {
            let other = signature.replacing(from, with: to)
            #expect(!Attempt("", "\(signed).\(other)", rsaKey, "RS256").isAccepted)
        }
    }

    @Test("Rejects tokens with critical extensions, invalid or re-encoded parts, or more than 16 KB")
    func parsing() throws {
        let right = try token(["alg": "RS256"], byRSA)
        #expect(JSONWebToken(right) != nil)
        for header: JSONObject in [
            ["alg": "RS256", "crit": ["exp"]], ["alg": "RS256", "crit": ["b64"], "b64": false],
            ["alg": "RS256", "crit": []], ["alg": "RS256", "crit": .null], ["alg": "RS256", "crit": "exp"],
        ] {
            #expect(JSONWebToken(try token(header, byRSA)) == nil, "\(header)")
        }
        let object = Base64URL.encode(Data(#"{"alg":"RS256"}"#.utf8))
        for text in ["[]", "1", "null", "\"x\"", "", "{", #"{"a":1}{}"#] {
            let part = Base64URL.encode(Data(text.utf8))
            #expect(JSONWebToken("\(part).\(object).") == nil, "\(text)")
            #expect(JSONWebToken("\(object).\(part).") == nil, "\(text)")
        }
        // A valid signature doesn't allow a different encoding of a part.
        let parts = try IdentityKey.unsigned(["sub": "kim"], ["alg": "RS256"]).split(separator: ".").map(String.init)
        for (header, body) in [
            (parts[0] + "=", parts[1]), (parts[0], parts[1] + "="), (parts[0], parts[1] + "=="),
            (parts[0] + " ", parts[1]), (parts[0], "\n" + parts[1]), (parts[0], Self.withOtherUnusedBits(parts[1])),
            ("", parts[1]), (parts[0], ""),
        ] {
            let signed = "\(header).\(body)"
            let signature = Base64URL.encode(try byRSA(Data(signed.utf8)))
            #expect(!Attempt("", "\(signed).\(signature)", rsaKey, "RS256").isAccepted, "\(signed)")
        }
        for count in [16_384, 1 << 20] {
            let padding: JSONObject = ["padding": .string(String(repeating: "x", count: count))]
            #expect(JSONWebToken(try JSONWebToken.signed(padding, by: rsa)) == nil)
            #expect(JSONWebToken(String(repeating: ".", count: count)) == nil)
            #expect(JSONWebToken("\(right)\(String(repeating: "=", count: count))") == nil)
        }
    }
}
