/// Random identifiers, such as object ids, session tokens and generated user names.
public enum Identifiers {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    /// Returns a cryptographically random string of letters and digits.
    public static func alphanumeric(_ count: Int) -> String { random(count, of: alphabet) }

    /// Returns a cryptographically random string of lower-case hexadecimal digits.
    public static func hexadecimal(_ count: Int) -> String { random(count, of: Array("0123456789abcdef".utf8)) }

    /// Returns equally likely characters: six random bits each, discarding values outside the alphabet. Each generator
    /// call is a system call, so one call supplies up to ten characters.
    private static func random(_ count: Int, of alphabet: [UInt8]) -> String {
        var generator = SystemRandomNumberGenerator()
        var text: [UInt8] = []
        text.reserveCapacity(count)
        while text.count < count {
            var bits: UInt64 = generator.next()
            for _ in 0..<10 where text.count < count {
                let index = Int(bits & 63)
                bits >>= 6
                if index < alphabet.count { text.append(alphabet[index]) }
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns a new session token. SDKs recognize revocable tokens by the prefix `r:`.
    public static func sessionToken() -> String { "r:" + hexadecimal(32) }
}
