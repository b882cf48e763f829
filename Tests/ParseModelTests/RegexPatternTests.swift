import ParseModel
import Testing

@Suite("Translating regular expressions to PostgreSQL")
struct RegexPatternTests {
    @Test(
        "Translates options to embedded flags",
        arguments: [
            ("", "(?p)a"), ("i", "(?pi)a"), ("s", "(?s)a"), ("m", "(?n)a"), ("ms", "(?w)a"), ("ims", "(?wi)a"),
            ("u", "(?p)a"),
        ])
    func options(options: String, expected: String) throws {
        #expect(try RegexPattern.postgres("a", options: options) == expected)
    }

    @Test(
        "Translates each construct to its PostgreSQL equivalent",
        arguments: [
            (#"abc"#, #"abc"#),
            (#"^a.b*c+d?$"#, #"^a.b*c+d?$"#),
            (#"\Qa.b\E"#, #"a\.b"#),
            (#"^\Qa+b\Ec"#, #"^a\+bc"#),
            (#"\Qa(b"#, #"a\(b"#),
            (#"\Qa\E\\E\Qb\E"#, #"a\\Eb"#),
            (#"\Q\E"#, #""#),
            (#"\bword\b"#, #"\yword\y"#),
            (#"\Bx"#, #"\Yx"#),
            (#"\d\w\s\D\W\S"#, #"\d\w\s\D\W\S"#),
            (#"\x41\u00e9"#, #"Aé"#),
            (#"\x2e"#, #"\."#),
            (#"(?:a|b)(?=c)(?!d)"#, #"(?:a|b)(?=c)(?!d)"#),
            (#"(?<=a)b(?<!c)"#, #"(?<=a)b(?<!c)"#),
            (#"(?<year>\d+)"#, #"(\d+)"#),
            (#"(?P<year>\d+)"#, #"(\d+)"#),
            (#"[a-z]"#, #"[a-z]"#),
            (#"[^a-z]"#, #"[^a-z]"#),
            (#"[[]"#, #"[\[]"#),
            (#"a{2,3}"#, #"a{2,3}"#),
            (#"a*?"#, #"a*?"#),
            (#"\/path\/"#, #"/path/"#),
            (#"(a)\1"#, #"(a)\1"#),
            (#"end\z"#, #"end\Z"#),
            (#"a\Eb"#, #"ab"#),
            (#"\éö"#, #"éö"#),
            (#"\QÅ(\E"#, #"Å\("#),
        ])
    func syntax(pattern: String, expected: String) throws {
        #expect(try RegexPattern.postgres(pattern, options: "") == "(?p)" + expected)
    }

    @Test("Free spacing drops whitespace and comments, except in brackets and quotes")
    func freeSpacing() throws {
        #expect(try RegexPattern.postgres("a b # comment\n c", options: "x") == "(?p)abc")
        #expect(try RegexPattern.postgres("[ #]", options: "x") == "(?p)[ #]")
        #expect(try RegexPattern.postgres(#"\Qa b\E"#, options: "x") == "(?p)a b")
        #expect(try RegexPattern.postgres("a b", options: "") == "(?p)a b")
    }

    @Test("Treats flags at the start of a pattern as options")
    func inlineFlags() throws {
        #expect(try RegexPattern.postgres("(?i)a", options: "") == "(?pi)a")
        #expect(try RegexPattern.postgres("(?is)a", options: "m") == "(?wi)a")
    }

    @Test(
        "Rejects malformed and untranslatable patterns with 102",
        arguments: [
            #"\"#, #"\p{L}"#, #"\cA"#, #"(?>a)"#, #"(?#x)"#, #"(?<name"#, #"[]"#, #"\k<a>"#, #"\u12"#, #"\xZZ"#,
            #"\u0000"#,
        ])
    func refusals(pattern: String) {
        do {
            _ = try RegexPattern.postgres(pattern, options: "")
            Issue.record("\(pattern) must be refused")
        } catch {
            #expect(error.code == ParseError.invalidQuery)
        }
    }

    @Test(
        "Rejects back references if they aren't allowed, in any notation",
        arguments: [
            #"(a)\1"#, #"(a)[\1]"#, #"\Q\E(a)\9"#, "(a)\\1\u{301}", #"(a)\\\1"#, #"(?x)(a) \1 # b"#, #"\E(a)\2"#,
        ])
    func backReferences(pattern: String) throws {
        #expect(throws: ParseError.self) {
            try RegexPattern.postgres(pattern, options: "", allowsBackReferences: false)
        }
        #expect(throws: Never.self) { try RegexPattern.postgres(pattern, options: "") }
    }

    @Test(
        "Accepts escapes that only look like back references",
        arguments: [#"\Q(a)\1\E"#, #"(a)\\1"#, #"(a)\0"#, #"(a)\x31"#])
    func noBackReferences(pattern: String) throws {
        #expect(throws: Never.self) {
            try RegexPattern.postgres(pattern, options: "", allowsBackReferences: false)
        }
    }

    @Test("Only a pure \"starts with\" pattern has a literal prefix")
    func prefixes() {
        #expect(RegexPattern.literalPrefix(#"^\Qabc\E"#) == "abc")
        #expect(RegexPattern.literalPrefix(#"^\Qa.*\E"#) == "a.*")
        #expect(RegexPattern.literalPrefix(#"^\Qa\E\\E\Qb\E"#) == "a\\Eb")
        #expect(RegexPattern.literalPrefix(#"^\Q\E"#) == "")
        for pattern in [#"\Qabc\E"#, #"^abc"#, #"^\Qabc\E$"#, #"^\Qabc\E.*\Qd\E"#, #"^\Qabc"#, ""] {
            #expect(RegexPattern.literalPrefix(pattern) == nil, "\(pattern)")
        }
    }
}
