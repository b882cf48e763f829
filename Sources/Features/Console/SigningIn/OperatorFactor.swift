import Encoding
import JSON
internal import Operations
internal import ParseModel
internal import ParseStorage
import SignIn

/// The second factor of operators: codes that an app shows (TOTP), each of which is good once.
///
/// The secret is sealed with a key that is made of the master key. After another master key no code of before is right.
struct OperatorFactor: Sendable {
    private let backend: Backend
    private let secrets: FactorSecrets

    init(_ backend: Backend) {
        self.backend = backend
        secrets = FactorSecrets(key: "operators of the console\u{0}\(backend.configuration.masterKey)")
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    private var seconds: Int { Int(backend.clock.now.milliseconds / 1000) }

    /// A new secret of 160 bits, in Base32, and the address by which apps take it.
    func make(for name: String) -> (secret: String, url: String) {
        let secret = String((0..<32).map { _ in Self.alphabet[Int.random(in: 0..<32)] })
        let issuer = backend.configuration.accountMail.appName ?? backend.configuration.appId
        let label = "\(Self.encoded(issuer)):\(Self.encoded(name))"
        return (secret, "otpauth://totp/\(label)?secret=\(secret)&issuer=\(Self.encoded(issuer))")
    }

    private static func encoded(_ text: String) -> String {
        PercentEncoding.encode(text, keepingOnly: "")
    }

    /// Gives an operator the factor.
    ///
    /// - Returns: Whether the secret is one, and the code is one that an app shows for it now.
    func turnOn(_ secret: String, code: String, of id: String) async throws -> Bool {
        guard (32...128).contains(secret.utf8.count), let key = Base32.decode(secret), key.count >= 16,
            let step = OneTimeCode(secret: key).step(of: Self.digits(code), at: seconds, after: nil)
        else { return false }
        return try await backend.store.operators.set(
            secret: secrets.sealed(secret), step: step, of: id)
    }

    /// Whether an operator is let in, with the factor or without one where none is set. The code is spent.
    func admits(_ known: StoredOperator, code: String?) async throws -> Bool {
        guard let sealed = known.secret else { return true }
        guard let code, code.utf8.count <= 64, let key = secrets.opened(sealed).flatMap(Base32.decode),
            let step = OneTimeCode(secret: key).step(of: Self.digits(code), at: seconds, after: nil)
        else { return false }
        return try await backend.store.operators.spend(step: step, of: known.id)
    }

    private static func digits(_ code: String) -> String { code.filter { $0 != " " } }
}
