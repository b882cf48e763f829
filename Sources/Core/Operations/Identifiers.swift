/// Random names: ids of objects, tokens of sessions, names of users who have none.
public enum Identifiers {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    /// Letters and digits, each equally likely, from the system's generator of secrets.
    public static func alphanumeric(_ count: Int) -> String { random(count, of: alphabet) }

    /// Lower-case hexadecimal digits.
    public static func hexadecimal(_ count: Int) -> String { random(count, of: Array("0123456789abcdef".utf8)) }

    /// Random characters of an alphabet of at most 64. Each takes six bits, and six more if they exceed the alphabet,
    /// so that all are equally likely. Each call of the generator asks the system, so all bits are used.
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

    /// A session token: SDKs take the `r:` for the sign of one that can be revoked.
    public static func sessionToken() -> String { "r:" + hexadecimal(32) }
}
