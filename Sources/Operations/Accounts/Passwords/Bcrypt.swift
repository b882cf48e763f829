import CCrypt

/// A bcrypt hash to be computed by libcrypt.
struct Bcrypt: Sendable {
    /// How many bytes of a password count; what follows them is cut off, as parse-server's bcrypt does.
    static let passwordLimit = 72

    /// The password as it is hashed.
    private let password: [UInt8]
    /// The variant, the cost and the salt, as in the first 29 characters of a hash; what follows does not count.
    private let setting: String

    /// Takes the bytes of a password that count.
    init(_ password: String, setting: String) {
        self.password = Array(password.utf8.prefix(Self.passwordLimit))
        self.setting = setting
    }

    /// The hash, `$2b$10$…`, after tens of milliseconds; nil for what cannot be hashed.
    func hash() -> String? {
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
