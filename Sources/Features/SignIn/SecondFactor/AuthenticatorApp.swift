import Crypto
import Encoding
import JSON
import Operations
import ParseModel

/// The codes of an authenticator app (TOTP), and two recovery codes in case the phone is lost.
struct AuthenticatorApp {
    let options: FactorOptions

    /// Sets up an app with a secret that the client has generated.
    ///
    /// - Parameter data: The secret in Base32, and a matching code of the app.
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

    /// Checks and consumes a code of the app or a recovery code.
    func logIn(_ token: JSONValue?, _ stored: JSONObject, at now: ParseDate) throws -> AuthOutcome {
        guard let token = token?.stringValue, token.utf8.count <= 64 else { throw SecondFactor.invalidToken }
        // Without an app there is no code to check.
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

/// The codes of an authenticator app (RFC 6238, based on RFC 4226).
package struct OneTimeCode: Sendable {
    package enum Algorithm: String, Sendable {
        case sha1 = "SHA1"
        case sha256 = "SHA256"
        case sha512 = "SHA512"
    }

    let secret: [UInt8]
    let algorithm: Algorithm
    let digits: Int
    /// The time in seconds for which a code is shown.
    let period: Int

    /// Creates the codes of a secret. The default parameters are those that apps assume.
    package init(secret: [UInt8], algorithm: Algorithm = .sha1, digits: Int = 6, period: Int = 30) {
        self.secret = secret
        self.algorithm = algorithm
        self.digits = digits
        self.period = period
    }

    /// The number of steps before and after the current one whose codes are accepted, because clocks differ.
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

    /// Returns the step of a code, or nil if the code isn't valid now or was already used.
    ///
    /// - Parameters:
    ///   - seconds: The time in seconds since 1970.
    ///   - last: The step of the last accepted code. Codes of this and earlier steps are rejected.
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
