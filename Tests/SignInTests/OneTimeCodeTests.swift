import SignIn
import Testing

@Suite("One-time codes (TOTP)")
struct OneTimeCodeTests {
    private static let seeds: [OneTimeCode.Algorithm: String] = [
        .sha1: "12345678901234567890", .sha256: "12345678901234567890123456789012",
        .sha512: "1234567890123456789012345678901234567890123456789012345678901234",
    ]

    @Test(
        "Computes the codes of RFC 6238, appendix B",
        arguments: [
            (59, .sha1, "94287082"), (59, .sha256, "46119246"), (59, .sha512, "90693936"),
            (1_111_111_109, .sha1, "07081804"), (1_111_111_109, .sha256, "68084774"),
            (1_111_111_109, .sha512, "25091201"), (20_000_000_000, .sha1, "65353130"),
            (20_000_000_000, .sha256, "77737706"), (20_000_000_000, .sha512, "47863826"),
        ] as [(Int, OneTimeCode.Algorithm, String)])
    func vectors(seconds: Int, algorithm: OneTimeCode.Algorithm, expected: String) throws {
        let secret = try #require(Self.seeds[algorithm])
        let code = OneTimeCode(secret: Array(secret.utf8), algorithm: algorithm, digits: 8)
        #expect(code.code(step: seconds / 30) == expected)
    }

    @Test("Accepts a code one step early or late, but only once")
    func window() {
        let code = OneTimeCode(secret: Array("12345678901234567890".utf8))
        let text = code.code(step: 100)
        #expect(code.step(of: text, at: 3000, after: nil) == 100)
        #expect(code.step(of: text, at: 2970, after: nil) == 100)
        #expect(code.step(of: text, at: 3059, after: nil) == 100)
        #expect(code.step(of: text, at: 2969, after: nil) == nil)
        #expect(code.step(of: text, at: 3060, after: nil) == nil)
        #expect(code.step(of: text, at: 3000, after: 100) == nil)
        #expect(code.step(of: code.code(step: 99), at: 3000, after: 100) == nil)
        #expect(code.step(of: "", at: 3000, after: nil) == nil)
    }
}
