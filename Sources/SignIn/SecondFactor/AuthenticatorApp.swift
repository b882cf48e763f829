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
