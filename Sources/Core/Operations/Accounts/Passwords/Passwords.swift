import CCrypt
import Encoding
import ParseModel
public import Telemetry

/// Hashes passwords in parse-server's format: bcrypt with cost 10 over the first 72 bytes.
///
/// Hashing takes tens of milliseconds of CPU time by design, so it runs in a ``HashingPool``, never on an event loop.
public struct Passwords: Sendable {
    /// The cost of new hashes: 2^cost rounds.
    public let cost: Int
    private let pool: HashingPool<Bcrypt, String?>

    /// - Parameters:
    ///   - cost: The cost of new hashes. Values below 10 are for tests only.
    ///   - threads: The number of hashing threads, or nil for one fewer than the processors.
    ///   - capacity: The maximum number of queued hashes.
    ///   - durations: A histogram of the hashing durations, or nil to record none.
    public init(cost: Int = 10, threads: Int? = nil, capacity: Int = 256, durations: Histogram? = nil) {
        self.cost = cost
        pool = HashingPool(threads: threads, capacity: capacity) { request in
            let start = ContinuousClock.now
            defer { durations?.record(.now - start) }
            return request.hash()
        }
    }

    var waiting: Int { pool.waiting }

    /// Hashes a password (`$2b$10$…`).
    ///
    /// - Parameter address: The IP address of the client.
    /// - Throws: `ServiceUnavailable` if the queue is full, `CancellationError` if the caller left, 1 if hashing fails.
    package func hash(_ password: String, from address: String) async throws -> String {
        let request = Bcrypt(password, setting: Self.setting(cost: cost))
        let hash = try await pool.run(from: address, request)
        guard let hash, BcryptHash(hash) != nil else {
            throw ParseError(ParseError.internalServerError, "An internal server error occurred")
        }
        return hash
    }

    /// Whether a password matches a hash. A missing or too expensive hash, or a password with NUL, never matches, but
    /// the comparison takes as long as hashing a new password.
    ///
    /// - Parameter address: The IP address of the client.
    /// - Throws: `ServiceUnavailable` if too many hashes are queued, `CancellationError` if the caller disconnects.
    package func verify(_ password: String, hash: BcryptHash?, from address: String) async throws -> Bool {
        // libcrypt would stop at a NUL character and accept a shorter password.
        let hash = hash.flatMap { $0.isAffordable && !password.utf8.contains(0) ? $0.text : nil }
        let request = Bcrypt(password, setting: hash ?? Self.setting(cost: cost))
        guard let computed = try await pool.run(from: address, request), let hash else { return false }
        return ConstantTime.areEqual(computed, hash)
    }

    private static func setting(cost: Int) -> String {
        let salt = (0..<16).map { _ in CChar.random(in: .min ... .max) }
        var output = [CChar](repeating: 0, count: Int(CRYPT_GENSALT_OUTPUT_SIZE))
        guard crypt_gensalt_rn("$2b$", UInt(cost), salt, 16, &output, Int32(output.count)) != nil else { return "" }
        return String(decoding: output.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// Input of a bcrypt computation with libcrypt.
package struct Bcrypt: Sendable {
    /// The maximum password length in bytes. Additional bytes are ignored, as in parse-server's bcrypt.
    static let passwordLimit = 72

    private let password: [UInt8]
    /// The variant, cost and salt, as in the first 29 characters of a hash. The rest is ignored.
    private let setting: String

    /// Truncates the password to ``passwordLimit``.
    package init(_ password: String, setting: String) {
        self.password = Array(password.utf8.prefix(Self.passwordLimit))
        self.setting = setting
    }

    /// Computes the hash, which takes tens of milliseconds, or returns nil if the input can't be hashed.
    package func hash() -> String? {
        let data = UnsafeMutablePointer<crypt_data>.allocate(capacity: 1)
        data.initialize(to: crypt_data())
        defer {
            data.deinitialize(count: 1)
            data.deallocate()
        }
        let text = password.map { CChar(bitPattern: $0) } + [0]
        guard let result = crypt_r(text, setting, data).map({ String(cString: $0) }), !result.hasPrefix("*") else {
            return nil
        }
        return result
    }
}
