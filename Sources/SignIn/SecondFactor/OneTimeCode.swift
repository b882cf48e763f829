import Crypto
import Encoding

/// Codes that an authenticator app shows for a while (RFC 6238, over RFC 4226).
struct OneTimeCode: Sendable {
    /// The hash that codes are made with.
    enum Algorithm: String, Sendable {
        case sha1 = "SHA1"
        case sha256 = "SHA256"
        case sha512 = "SHA512"
    }

    /// The secret that the app and the server share.
    let secret: [UInt8]
    var algorithm = Algorithm.sha1
    /// How many digits a code has.
    var digits = 6
    /// For how many seconds a code is shown.
    var period = 30

    /// In how many steps before and after the present one a code is taken: clocks differ.
    private static let window = 1

    /// The code of a step.
    func code(step: Int) -> String {
        let counter = (0..<8).map { UInt8(truncatingIfNeeded: step >> (56 - 8 * $0)) }
        let key = SymmetricKey(data: secret)
        let hash =
            switch algorithm {
            case .sha1: Array(HMAC<Insecure.SHA1>.authenticationCode(for: counter, using: key))
            case .sha256: Array(HMAC<SHA256>.authenticationCode(for: counter, using: key))
            case .sha512: Array(HMAC<SHA512>.authenticationCode(for: counter, using: key))
            }
        let offset = Int(hash[hash.count - 1] & 15)
        let number = hash[offset..<offset + 4].reduce(0) { $0 << 8 | UInt64($1) } & 0x7FFF_FFFF
        let text = String(number % Self.power(digits))
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    /// The step that a code belongs to; nil for a code that is none now.
    ///
    /// - Parameters:
    ///   - seconds: The time, in seconds since 1970.
    ///   - last: The step of the last code that was taken: it and those before are taken no more.
    func step(of code: String, at seconds: Int, after last: Int?) -> Int? {
        let now = seconds / period
        var found: Int?
        for step in (now - Self.window)...(now + Self.window) where ConstantTime.areEqual(code, self.code(step: step)) {
            found = found ?? step
        }
        guard let found, found > last ?? Int.min else { return nil }
        return found
    }

    private static func power(_ digits: Int) -> UInt64 { (0..<digits).reduce(1) { power, _ in power * 10 } }
}
