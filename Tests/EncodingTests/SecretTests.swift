import Encoding
import Testing

@Suite struct SecretTests {
    @Test("Secrets are equal only if their bytes are, and empty ones never")
    func comparison() {
        #expect(ConstantTime.areEqual("secret", "secret"))
        for other in ["", "secre", "secret ", "Secret", "secre\u{212a}", "secretsecret"] {
            #expect(!ConstantTime.areEqual(other, "secret"), "\(other)")
        }
        #expect(!ConstantTime.areEqual("", ""))
        // Canonically equivalent, but with different bytes.
        #expect(!ConstantTime.areEqual("\u{212a}ey", "Key"))
    }

    @Test("The stable hash of a string is its 64-bit FNV-1a hash")
    func hash() {
        #expect(StableHash.of("") == 0xcbf2_9ce4_8422_2325)
        #expect(StableHash.of("a") == 0xaf63_dc4c_8601_ec8c)
        #expect(StableHash.of("foobar") == 0x8594_4171_f739_67e8)
    }
}
