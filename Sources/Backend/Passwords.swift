import CCrypt
import Foundation
import NIOPosix

/// Password hashes as parse-server writes them: bcrypt, cost 10.
///
/// Hashing takes tens of milliseconds of a processor by design, so it runs in processes of its own if they were started,
/// else on threads, never on an event loop.
public struct Passwords: Sendable {
    private static let threads = {
        let pool = NIOThreadPool(numberOfThreads: 2)
        pool.start()
        return pool
    }()

    /// The cost that new hashes get: 2^cost rounds.
    public let cost: Int

    /// Makes a hasher; a cost below 10 is for tests only.
    public init(cost: Int = 10) { self.cost = cost }

    /// The hash of a password, `$2b$10$…`.
    public func hash(_ password: String) async -> String {
        let cost = cost
        return await Self.run { Self.crypt(password, setting: Self.setting(cost: cost)) ?? "" }
    }

    /// Whether a password has a hash. Without a hash the same time is spent, and the answer is no.
    public func verify(_ password: String, hash: String?) async -> Bool {
        let cost = cost
        return await Self.run {
            // A text with a NUL in it would end there for C, and so match a shorter password.
            guard let hash, hash.hasPrefix("$2"), !password.utf8.contains(0) else {
                _ = Self.crypt("", setting: Self.setting(cost: cost))
                return false
            }
            guard let computed = Self.crypt(password, setting: hash) else { return false }
            return Secrets.areEqual(computed, hash)
        }
    }

    private static func run<R: Sendable>(_ work: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            threads.submit { _ in continuation.resume(returning: work()) }
        }
    }

    private static func setting(cost: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<16).map { _ in CChar(bitPattern: UInt8.random(in: 0...255, using: &generator)) }
        var output = [CChar](repeating: 0, count: Int(CRYPT_GENSALT_OUTPUT_SIZE))
        guard crypt_gensalt_rn("$2b$", UInt(cost), salt, 16, &output, Int32(output.count)) != nil else { return "" }
        return text(output)
    }

    private static func crypt(_ password: String, setting: String) -> String? {
        #if os(Linux)
            let result = HashingProcesses.crypt(password, setting: setting) ?? cryptHere(password, setting: setting)
        #else
            let result = cryptHere(password, setting: setting)
        #endif
        guard let result, !result.hasPrefix("*") else { return nil }
        return result
    }

    /// The hash as `crypt` gives it, computed by the thread that asks; nil or `*` and more for what cannot be hashed.
    static func cryptHere(_ password: String, setting: String) -> String? {
        let data = UnsafeMutablePointer<crypt_data>.allocate(capacity: 1)
        data.initialize(to: crypt_data())
        defer {
            data.deinitialize(count: 1)
            data.deallocate()
        }
        return crypt_r(password, setting, data).map { String(cString: $0) }
    }

    private static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
