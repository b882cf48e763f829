import JSON
import ParseModel
import Rules
import ServerConfiguration
import Testing

@Suite("Password rules")
struct PasswordRuleTests {
    private static func check(
        _ password: String, username: String? = "ann", _ policy: JSONObject? = nil, refusesUncompared: Bool = true
    ) throws {
        let options: JSONObject = policy.map { ["passwordPolicy": .object($0)] } ?? [:]
        try PasswordRules.check(
            password, username: username, try deployment(options).passwordPolicy, refusesUncompared: refusesUncompared)
    }

    private static let unfit = ParseError(142, "Password does not meet the Password Policy requirements.")
    private static let named = ParseError(142, "Password cannot contain your username.")
    private static let long = ParseError(142, "Password can't be longer than 72 bytes.")

    @Test("Without a policy, allows any password, even the user name", arguments: ["a", "ann", " ", "\u{E9}\n"])
    func withoutPolicy(password: String) throws {
        try Self.check(password)
    }

    @Test("Rejects passwords with a NUL character", arguments: ["\0", "a\0", "\0a", "a\0b"])
    func nul(password: String) {
        for refusesUncompared in [true, false] {
            #expect(throws: ParseError(107, "Strings can't contain the NUL character")) {
                try Self.check(password, refusesUncompared: refusesUncompared)
            }
        }
    }

    @Test("Rejects passwords over 72 bytes, the most that bcrypt compares")
    func length() throws {
        try Self.check(String(repeating: "a", count: 72))
        try Self.check(String(repeating: "\u{E9}", count: 36))
        #expect(throws: Self.long) { try Self.check(String(repeating: "a", count: 73)) }
        #expect(throws: Self.long) { try Self.check(String(repeating: "\u{E9}", count: 37)) }
        #expect(throws: Self.long) { try Self.check(String(repeating: "e\u{301}", count: 25)) }
    }

    @Test("Older presets accept longer passwords")
    func olderLines() throws {
        try Self.check(String(repeating: "a", count: 500), refusesUncompared: false)
    }

    // MARK: - The pattern

    @Test("Rejects passwords that don't match the pattern")
    func pattern() throws {
        let policy: JSONObject = ["validatorPattern": "^.{8,}$"]
        try Self.check("12345678", policy)
        #expect(throws: Self.unfit) { try Self.check("1234567", policy) }
        try Self.check("xx7xx", ["validatorPattern": "[0-9]"])
        #expect(throws: Self.unfit) { try Self.check("xxxx", ["validatorPattern": "[0-9]"]) }
    }

    @Test("Supports patterns that consist only of lookaheads")
    func lookingAhead() throws {
        let policy: JSONObject = ["validatorPattern": "^(?=.*[A-Z])(?=.*[a-z])(?=.*[0-9])(?=.{8,})"]
        try Self.check("Abcdefg1", policy)
        for password in ["abcdefg1", "ABCDEFG1", "Abcdefgh", "Abcde1", ""] {
            #expect(throws: Self.unfit) { try Self.check(password, policy) }
        }
    }

    @Test("Patterns don't match look-alike letters")
    func patternOfLookAlikes() throws {
        try Self.check("K", ["validatorPattern": "K"])
        #expect(throws: Self.unfit) { try Self.check("\u{212A}", ["validatorPattern": "K"]) }
        #expect(throws: Self.unfit) { try Self.check("e\u{301}", ["validatorPattern": "\u{E9}"]) }
    }

    // MARK: - The user's name

    private static let namePolicy: JSONObject = ["doNotAllowUsername": true]

    @Test("doNotAllowUsername rejects the user name in any position", arguments: ["ann", "annie", "joann", "xannx"])
    func username(password: String) {
        #expect(throws: Self.named) { try Self.check(password, Self.namePolicy) }
    }

    @Test("Looks for the user name case-sensitively and byte by byte")
    func usernameBytes() throws {
        try Self.check("Ann", Self.namePolicy)
        try Self.check("an n", Self.namePolicy)
        try Self.check("xKx", username: "\u{212A}", Self.namePolicy)
        try Self.check("e\u{301}", username: "\u{E9}", Self.namePolicy)
        #expect(throws: Self.named) { try Self.check("x\u{E9}x", username: "\u{E9}", Self.namePolicy) }
        #expect(throws: Self.named) { try Self.check("ann\u{301}", Self.namePolicy) }
    }

    @Test("doNotAllowUsername has no effect without a user name", arguments: [nil, ""])
    func withoutUsername(username: String?) throws {
        try Self.check("ann", username: username, Self.namePolicy)
    }

    // MARK: - Error texts

    @Test("validationError replaces the errors for pattern and user name, but not for length")
    func words() {
        let policy: JSONObject = [
            "validatorPattern": "^.{3,}$", "doNotAllowUsername": true, "validationError": "Choose another.",
        ]
        #expect(throws: ParseError(142, "Choose another.")) { try Self.check("a", policy) }
        #expect(throws: ParseError(142, "Choose another.")) { try Self.check("ann", policy) }
        #expect(throws: Self.long) { try Self.check(String(repeating: "a", count: 73), policy) }
    }

    @Test("Checks the length first, then the pattern, then the user name")
    func order() {
        let policy: JSONObject = ["validatorPattern": "[0-9]", "doNotAllowUsername": true]
        let name = String(repeating: "n", count: 80)
        #expect(throws: Self.long) { try Self.check(name, username: name, policy) }
        #expect(throws: Self.unfit) { try Self.check("ann", policy) }
        #expect(throws: Self.named) { try Self.check("ann1", policy) }
    }
}
