import Operations
import Testing

/// bcrypt hashes in parse-server's format, as computed by libcrypt.
@Suite struct BcryptTests {
    /// Hashes from the tests of crypt_blowfish and OpenBSD. All bcrypt variants agree on them.
    @Test(
        "Computes the same hashes as other implementations",
        arguments: [
            ("U*U", "$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
            ("U*U*U", "$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a"),
            ("", "$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy"),
        ])
    func known(password: String, hash: String) {
        for variant in ["$2a", "$2b", "$2y"] {
            #expect(Bcrypt(password, setting: variant + hash).hash() == variant + hash)
        }
    }

    @Test("Ignores all but the first 72 bytes of a password")
    func limit() {
        let setting = "$2b$04$CCCCCCCCCCCCCCCCCCCCC."
        let long = String(repeating: "p", count: 72)
        let hash = Bcrypt(long, setting: setting).hash()
        #expect(hash.flatMap { BcryptHash($0) } != nil)
        #expect(Bcrypt(long + String(repeating: "q", count: 5_000), setting: setting).hash() == hash)
        #expect(Bcrypt(String(long.dropLast()), setting: setting).hash() != hash)
    }

    @Test(
        "Returns no hash for invalid settings",
        arguments: ["", "*0", "$2b$05$", "$2c$05$CCCCCCCCCCCCCCCCCCCCC.", "$2b$03$CCCCCCCCCCCCCCCCCCCCC."])
    func refused(setting: String) {
        #expect(Bcrypt("U*U", setting: setting).hash() == nil)
    }
}
