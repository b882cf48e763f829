import Crypto
import Encoding
import JSON
import Operations
import ParseModel

/// Codes of an app on the user's phone (TOTP), and the two recovery codes for when it is lost.
struct AuthenticatorApp {
    let options: FactorOptions

    /// Sets an app up whose secret the client made.
    ///
    /// - Parameter data: The secret, in Base32, and a code that the app shows for it.
    func setUp(_ data: JSONObject, at now: ParseDate) throws -> AuthOutcome {
        guard let secret = data["secret"]?.stringValue, let token = data["token"]?.stringValue, !token.isEmpty,
            (20...256).contains(secret.utf8.count), let key = Base32.decode(secret)
        else { throw SecondFactor.invalidData }
        guard let step = code(key).step(of: token, at: Self.seconds(now), after: nil) else {
            throw SecondFactor.invalidToken
        }
        let recovery = [Identifiers.alphanumeric(30), Identifiers.alphanumeric(30)]
        return AuthOutcome(
            stored: [
                "secret": .string(try options.secrets.sealed(secret)),
                "recovery": .array(recovery.map { .string(options.secrets.digest($0)) }), "step": .number(Double(step)),
            ], response: ["recovery": .string(recovery.joined(separator: ", "))])
    }

    /// Checks a code of the app, or a recovery code, and spends it.
    func logIn(_ token: JSONValue?, _ stored: JSONObject, at now: ParseDate) throws -> AuthOutcome {
        guard let token = token?.stringValue, token.utf8.count <= 64 else { throw SecondFactor.invalidToken }
        // Who has no app set up has nothing to prove by one.
        guard let sealed = stored["secret"]?.stringValue else { return AuthOutcome() }
        var spent = stored
        let codes = stored["recovery"]?.arrayValue ?? []
        let left = codes.filter { !options.secrets.isSame(token, as: $0.stringValue ?? "") }
        if left.count < codes.count {
            spent["recovery"] = .array(left)
            return AuthOutcome(stored: spent)
        }
        let last = stored["step"]?.numberValue.flatMap { Int(exactly: $0) }
        guard let secret = options.secrets.opened(sealed), let key = Base32.decode(secret),
            let step = code(key).step(of: token, at: Self.seconds(now), after: last)
        else { throw SecondFactor.invalidToken }
        spent["step"] = .number(Double(step))
        return AuthOutcome(stored: spent)
    }

    private func code(_ key: [UInt8]) -> OneTimeCode {
        OneTimeCode(secret: key, algorithm: options.algorithm, digits: options.digits, period: options.period)
    }

    private static func seconds(_ date: ParseDate) -> Int { Int(date.milliseconds / 1000) }
}

/// Codes that an authenticator app shows for a while (RFC 6238, over RFC 4226).
package struct OneTimeCode: Sendable {
    /// The hash that codes are made with.
    package enum Algorithm: String, Sendable {
        case sha1 = "SHA1"
        case sha256 = "SHA256"
        case sha512 = "SHA512"
    }

    /// The secret that the app and the server share.
    let secret: [UInt8]
    let algorithm: Algorithm
    let digits: Int
    /// For how many seconds a code is shown.
    let period: Int

    /// Codes of a secret as apps show them where nothing else is said, unless something is.
    package init(secret: [UInt8], algorithm: Algorithm = .sha1, digits: Int = 6, period: Int = 30) {
        self.secret = secret
        self.algorithm = algorithm
        self.digits = digits
        self.period = period
    }

    /// Steps before and after the present one whose codes are accepted, as clocks differ.
    private static let window = 1

    package func code(step: Int) -> String {
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
    package func step(of code: String, at seconds: Int, after last: Int?) -> Int? {
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
