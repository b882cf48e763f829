import Crypto
import CryptoExtras
import Encoding
import JSON
import Operations
import Outgoing
import ParseModel
import Platform
import ServerConfiguration

/// Apple's Game Center: verifies a signature over player, app and time. Apple publishes the signing certificates.
///
/// Specification: Apple's `GKLocalPlayer.fetchItems(forIdentityVerificationSignature:)`.
struct GameCenterProvider: AuthProvider {
    /// Whether error texts are those of parse-server before version 8.
    let hasOldTexts: Bool
    let certificates: GameCenterCertificates

    /// The milliseconds for which a signature is accepted. A leaked one is useless afterward.
    private static let validity: Double = 24 * 3600 * 1000

    private func refused(_ text: String) -> ParseError {
        TokenCheck.refused(
            hasOldTexts ? "Apple Game Center - \(text)" : text.prefix(1).uppercased() + text.dropFirst() + ".")
    }

    var optionForms: [Name: AuthOptionForm]? { ["bundleId": .text, "rootCertificateUrl": .text] }

    func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError) {
        guard options["enabled"] != false, ProviderOptions.text(options["bundleId"]) == nil else { return }
        throw ConfigurationError(
            "option auth.\(name).bundleId is required. Without it, players of other apps would be accepted")
    }

    func exchange(_ data: JSONObject, _ options: JSONObject) async throws -> JSONObject {
        var data = data
        // Older SDKs send the player id as `playerId`.
        if data["id"] == nil, let player = data["playerId"] { data["id"] = player }
        return data
    }

    func validate(_ data: JSONObject, _ options: JSONObject) async throws {
        for key: Name in ["id", "publicKeyUrl", "timestamp", "signature", "salt"] where data[key]?.isTruthy != true {
            throw hasOldTexts ? refused("authData \(key) missing") : TokenCheck.refused("AuthData \(key) is missing.")
        }
        let bundle = ProviderOptions.text(options["bundleId"]) ?? ""
        if let claimed = data["bundleId"]?.stringValue, !claimed.hasSameBytes(as: bundle) {
            throw refused("invalid bundleId")
        }
        let url = data["publicKeyUrl"]?.stringValue ?? ""
        guard Self.isApples(url) else {
            throw TokenCheck.refused(
                hasOldTexts ? "Apple Game Center - invalid publicKeyUrl: \(url)" : "Invalid publicKeyUrl: \(url)")
        }
        guard let id = data["id"]?.stringValue, let timestamp = Self.number(data["timestamp"]), timestamp >= 0,
            timestamp < 9e15, let signature = Self.bytes(data["signature"]), let salt = Self.bytes(data["salt"]),
            abs(Date().timeIntervalSince1970 * 1000 - timestamp) < Self.validity
        else { throw refused("invalid signature") }
        let key: _RSA.Signing.PublicKey
        do {
            key = try await certificates.key(at: url, root: ProviderOptions.text(options["rootCertificateUrl"]))
        } catch {
            throw refused("invalid signature")
        }
        let time = (0..<8).map { UInt8(truncatingIfNeeded: UInt64(timestamp) >> (56 - 8 * UInt64($0))) }
        let payload = Array(id.utf8) + Array(bundle.utf8) + time + salt
        let isRight = key.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: signature), for: SHA256.hash(data: payload),
            padding: .insecurePKCS1v1_5)
        guard isRight else { throw refused("invalid signature") }
    }

    private static func number(_ value: JSONValue?) -> Double? {
        value?.numberValue ?? value?.stringValue.flatMap(Double.init)
    }

    private static func bytes(_ value: JSONValue?) -> [UInt8]? {
        value?.stringValue.flatMap { $0.utf8.count <= 4096 ? Data(base64Encoded: $0).map { Array($0) } : nil }
    }

    /// Returns whether a URL is that of an Apple certificate: `https://(sub.)*apple.com/….cer`.
    static func isApples(_ url: String) -> Bool {
        guard url.utf8.count <= 512, url.utf8.allSatisfy({ (33..<127).contains($0) }), url.hasPrefix("https://"),
            url.hasSuffix(".cer")
        else { return false }
        let rest = url.dropFirst("https://".count)
        guard let slash = rest.firstIndex(of: "/") else { return false }
        let host = rest[..<slash]
        let isName = host.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
        }
        return isName && (host == "apple.com" || host.hasSuffix(".apple.com"))
    }
}
