import Testing

@testable import Backend

/// Hashes that are computed together, beside those of libcrypt.
@Suite struct BcryptTests {
    /// Known from the tests of crypt_blowfish and OpenBSD.
    private static let known = [
        ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
        ("U*U*U", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a"),
        ("", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy"),
    ]

    @Test("A password opens the door that it opened before, however many are compared at once")
    func known() {
        // The variants agree about these.
        for variant in ["a", "b", "y"] {
            let hashes = Self.known.map { "$2\(variant)" + $0.1.dropFirst(3) }
            let requests = zip(Self.known, hashes).map { Bcrypt.Request($0.0, setting: $1) }
            #expect(Bcrypt.hashes(of: requests) == hashes)
            #expect(Bcrypt.hashes(of: Array(requests.prefix(2))) == Array(hashes.prefix(2)))
            for (request, hash) in zip(requests, hashes) { #expect(Bcrypt.hashes(of: [request]) == [hash]) }
        }
    }

    @Test("Hashes that are computed together are those of libcrypt")
    func agreement() {
        var generator = SystemRandomNumberGenerator()
        let letters = Array("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        let lengths = [0, 1, 3, 4, 5, 17, 55, 56, 70, 71, 72, 73, 200]
        let requests = (0..<60).map { number in
            let password = String(
                (0..<lengths[number % lengths.count]).map { _ in
                    Character(Unicode.Scalar(UInt8.random(in: 1...255, using: &generator)))
                })
            let salt = String((0..<22).map { _ in letters[Int.random(in: 0..<64, using: &generator)] })
            let variant = number % 7 == 0 ? "a" : number % 5 == 0 ? "y" : "b"
            return Bcrypt.Request(password, setting: "$2\(variant)$\(number % 11 == 0 ? "05" : "04")$\(salt)")
        }
        let alone = requests.map { Bcrypt.hashes(of: [$0])[0] }
        #expect(Bcrypt.hashes(of: requests) == alone)
        #expect(alone.allSatisfy { $0.flatMap { BcryptHash($0) } != nil })
    }

    @Test("What cannot be hashed has no hash, and spoils none beside it")
    func refused() {
        let good = Bcrypt.Request("U*U", setting: "$2b$05$CCCCCCCCCCCCCCCCCCCCC.")
        for setting in ["", "*0", "$2b$05$", "$2c$05$CCCCCCCCCCCCCCCCCCCCC.", "$2b$03$CCCCCCCCCCCCCCCCCCCCC."] {
            let hashes = Bcrypt.hashes(of: [good, Bcrypt.Request("U*U", setting: setting), good])
            #expect(hashes[0] == "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW")
            #expect(hashes[1] == nil, "\(setting)")
            #expect(hashes[2] == hashes[0])
        }
    }
}
