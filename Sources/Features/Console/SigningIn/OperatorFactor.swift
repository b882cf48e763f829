import Encoding
import JSON
internal import Operations
internal import ParseModel
import SignIn

/// The second factor of operators: time-based one-time codes (TOTP).
///
/// The stored secret is encrypted with a key derived from the master key at startup. After a start with another master
/// key, all codes are invalid.
struct OperatorFactor: Sendable {
    private let backend: Backend
    private let secrets: FactorSecrets

    init(_ backend: Backend) {
        self.backend = backend
        secrets = FactorSecrets(key: "operators of the console\u{0}\(backend.configuration.masterKey)")
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    private var seconds: Int { Int(backend.clock.now.milliseconds / 1000) }

    /// Returns a new 160-bit secret in Base32, and the URL for authenticator apps.
    func make(for name: String) -> (secret: String, url: String) {
        let secret = String((0..<32).map { _ in Self.alphabet[Int.random(in: 0..<32)] })
        let issuer = backend.configuration.accountMail.appName ?? backend.configuration.appId
        let label = "\(Self.encoded(issuer)):\(Self.encoded(name))"
        return (secret, "otpauth://totp/\(label)?secret=\(secret)&issuer=\(Self.encoded(issuer))")
    }

    private static func encoded(_ text: String) -> String {
        PercentEncoding.encode(text, keepingOnly: "")
    }

    /// Enables the operator's second factor. Returns false for an invalid secret or code, or an unknown operator.
    func turnOn(_ secret: String, code: String, of id: String) async throws -> Bool {
        guard (32...128).contains(secret.utf8.count), let key = Base32.decode(secret), key.count >= 16,
            let step = OneTimeCode(secret: key).step(of: Self.digits(code), at: seconds, after: nil)
        else { return false }
        return try await backend.store.operators.set(
            secret: secrets.sealed(secret), step: step, of: id)
    }

    /// Returns whether an operator may sign in: no second factor is set, or the code is valid. Consumes the code.
    func admits(_ known: StoredOperator, code: String?) async throws -> Bool {
        guard let sealed = known.secret else { return true }
        guard let code, code.utf8.count <= 64, let key = secrets.opened(sealed).flatMap(Base32.decode),
            let step = OneTimeCode(secret: key).step(of: Self.digits(code), at: seconds, after: nil)
        else { return false }
        return try await backend.store.operators.spend(step: step, of: known.id)
    }

    private static func digits(_ code: String) -> String { code.filter { $0 != " " } }
}
