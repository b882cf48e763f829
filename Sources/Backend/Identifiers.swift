import Crypto
import Foundation

/// Random names: ids of objects, tokens of sessions, names of users who have none.
public enum Identifiers {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    /// Letters and digits, each equally likely, from the system's generator of secrets.
    public static func alphanumeric(_ count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return String(
            decoding: (0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] },
            as: UTF8.self)
    }

    /// Lower-case hexadecimal digits.
    public static func hexadecimal(_ count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: (0..<count).map { _ in digits[Int.random(in: 0..<16, using: &generator)] }, as: UTF8.self)
    }

    /// A session token: SDKs take the `r:` for the sign of one that can be revoked.
    public static func sessionToken() -> String { "r:" + hexadecimal(32) }
}

/// Comparison of secrets in a time that does not tell where they differ.
public enum Secrets {
    /// Whether two secrets are the same text.
    public static func areEqual(_ left: String, _ right: String) -> Bool {
        // Digests have one length, so that not even the length of the secret shows.
        SHA256.hash(data: Data(left.utf8)) == SHA256.hash(data: Data(right.utf8))
    }
}
