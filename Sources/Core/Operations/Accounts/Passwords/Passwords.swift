import CCrypt
import Encoding
import ParseModel
public import Telemetry

/// Password hashes as parse-server writes them: bcrypt, cost 10, of the first 72 bytes of a password.
///
/// Hashing takes tens of milliseconds of a processor by design, so it runs on threads of its own (``HashingPool``), never
/// on an event loop.
public struct Passwords: Sendable {
    /// The cost that new hashes get: 2^cost rounds.
    public let cost: Int
    private let pool: HashingPool<Bcrypt, String?>

    /// - Parameters:
    ///   - cost: The cost of new hashes; below 10 for tests only.
    ///   - threads: How many hashes are computed at once; nil for the number of processors less one.
    ///   - capacity: How many may wait to be computed.
    ///   - durations: Where it is counted how long hashes take; nil for nowhere.
    public init(cost: Int = 10, threads: Int? = nil, capacity: Int = 256, durations: Histogram? = nil) {
        self.cost = cost
        pool = HashingPool(threads: threads, capacity: capacity) { request in
            let start = ContinuousClock.now
            defer { durations?.record(.now - start) }
            return request.hash()
        }
    }

    var waiting: Int { pool.waiting }

    /// The hash of a password, `$2b$10$…`.
    ///
    /// - Parameter address: The IP address that the request comes from.
    /// - Throws: `ServiceUnavailable` when too many wait, `CancellationError` when the caller has left.
    func hash(_ password: String, from address: String) async throws -> String {
        let request = Bcrypt(password, setting: Self.setting(cost: cost))
        let hash = try await pool.run(from: address, request)
        guard let hash, BcryptHash(hash) != nil else {
            throw ParseError(ParseError.internalServerError, "An internal server error occurred")
        }
        return hash
    }

    /// Whether a password has a hash. Without a hash, or with one that is too dear to compute, the same time is spent, and
    /// the answer is no.
    ///
    /// - Parameter address: The IP address that the request comes from.
    /// - Throws: `ServiceUnavailable` when too many wait, `CancellationError` when the caller has left.
    func verify(_ password: String, hash: BcryptHash?, from address: String) async throws -> Bool {
        // A text with a NUL in it would end there for libcrypt, and so match a shorter password.
        guard let hash, hash.isAffordable, !password.utf8.contains(0) else {
            let request = Bcrypt(password, setting: Self.setting(cost: cost))
            _ = try await pool.run(from: address, request)
            return false
        }
        let computed = try await pool.run(from: address, Bcrypt(password, setting: hash.text))
        return computed.map { ConstantTime.areEqual($0, hash.text) } ?? false
    }

    private static func setting(cost: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<16).map { _ in CChar(bitPattern: UInt8.random(in: 0...255, using: &generator)) }
        var output = [CChar](repeating: 0, count: Int(CRYPT_GENSALT_OUTPUT_SIZE))
        guard crypt_gensalt_rn("$2b$", UInt(cost), salt, 16, &output, Int32(output.count)) != nil else { return "" }
        return text(output)
    }

    private static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// A bcrypt hash to be computed by libcrypt.
package struct Bcrypt: Sendable {
    /// How many bytes of a password count; what follows them is cut off, as parse-server's bcrypt does.
    static let passwordLimit = 72

    private let password: [UInt8]
    /// The variant, cost and salt, as in the first 29 characters of a hash. The rest is ignored.
    private let setting: String

    /// Takes the bytes of a password that count.
    package init(_ password: String, setting: String) {
        self.password = Array(password.utf8.prefix(Self.passwordLimit))
        self.setting = setting
    }

    /// The hash, `$2b$10$…`, after tens of milliseconds; nil for what cannot be hashed.
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
