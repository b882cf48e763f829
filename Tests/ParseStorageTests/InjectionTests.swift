import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Testing

@Suite("SQL injection")
struct InjectionTests {
    /// Texts that would end a quote, a statement or a path if they weren't escaped.
    private static let hostile = [
        "'", "\"", "\\", "a'b", "a\"b", "a\\", "--", "; DROP TABLE \"T\"; --", "\"; DROP TABLE \"T\"; --",
        "'; DROP TABLE \"T\"; --", "$1", "$1::text", "a::int", "n::text", "/*", "*/", "') OR 1=1 --", "\") OR TRUE --",
        "' OR '1'='1", "}}'", "{a,b}", "${x}", "%s", "\u{1}", "\n", "é", String(repeating: "x", count: 200),
        String(repeating: "'", count: 200), String(repeating: "\"", count: 200), "?(@ == 1)", "$[*]", ".**", "\0",
    ]

    private static func fill(_ test: TestStore) async throws {
        try await test.create(
            "T", "a",
            #"{"n":1,"s":"kept","o":{"k":1},"l":[{"k":1}],"p":{"__type":"Pointer","className":"T","objectId":"a"}}"#)
        try await test.create("T", "b", #"{"n":2}"#)
    }

    private static func expectIntact(_ test: TestStore) async throws {
        #expect(try await test.ids("T", "{}") == ["a", "b"])
        #expect(try await test.value("T", "a", "s") == "kept")
        #expect(try await test.value("T", "a", "l") == [["k": 1]])
    }

    /// Runs a call that may fail with a Parse error, but not with a server error.
    private static func harmless<R: Sendable>(_ what: String, _ body: @Sendable () async throws -> R) async -> R? {
        do {
            return try await body()
        } catch let error as ParseError {
            #expect(error.code != ParseError.internalServerError, "\(what)")
        } catch {
            Issue.record("\(what) failed: \(error)")
        }
        return nil
    }

    /// Returns a subquery with malicious texts in every possible position.
    private static func subquery(_ className: String, _ filter: Filter, key: FieldPath?, _ text: String) throws
        -> Subquery
    {
        let parsed = try FilterParser(isMaster: true, now: 0).parse([
            "f": ["$inQuery": ["className": "T", "where": [:]]]
        ])
        guard case .field(_, .inQuery(var query)) = parsed else { throw ParseError.notFound }
        query.className = className
        query.filter = filter
        query.key = key
        query.redirectKey = text
        query.order = [SortKey(FieldPath(text), isDescending: true)]
        query.limit = 1
        query.readers = [Name(text)]
        return query
    }

    @Test("Hostile field names and dotted keys match nothing")
    func fields() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            for text in Self.hostile {
                var paths = [FieldPath(text)]
                for root in ["n", "s", "o", "l", "p"] {
                    for steps in [[text], ["0", text], [text, "0"], ["k", text]] {
                        var path = FieldPath(root)
                        path.steps = steps
                        paths.append(path)
                    }
                }
                for path in paths {
                    for constraint in [
                        Constraint.equal(1), .compare(.greater, 0), .isIn([1]), .regex(pattern: "1", options: ""),
                    ] {
                        let found = await Self.harmless("\(path)") { try await test.ids("T", .field(path, constraint)) }
                        #expect(found ?? [] == [], "\(path)")
                    }
                }
            }
            try await Self.expectIntact(test)
        }
    }

    @Test("Hostile values in every constraint are treated as values")
    func values() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            for text in Self.hostile {
                let value = JSONValue.string(text)
                let strange = try Self.subquery(
                    text, .field(FieldPath(text), .equal(value)), key: FieldPath(text), text)
                let usual = try Self.subquery("T", .field(FieldPath("s"), .equal(value)), key: nil, text)
                let constraints: [Constraint] = [
                    .equal(value), .isIn([value]), .containsAll([value]), .containedBy([value]),
                    .containsAllStarting([text]),
                    .regex(pattern: "^\\Q" + text + "\\E", options: ""), .regex(pattern: text, options: "i"),
                    .text(TextSearch(term: text, language: text, isCaseSensitive: false, isDiacriticSensitive: true)),
                    .equal(["k": value]), .equal([value]),
                    .equal(["__type": "Pointer", "className": "T", "objectId": value]),
                    .inQuery(strange), .inQuery(usual), .notInQuery(strange),
                ]
                for field in ["s", "o", "l", "p", "l.k"] {
                    for constraint in constraints {
                        let found = await Self.harmless("\(field) \(constraint)") {
                            try await test.ids("T", .field(FieldPath(field), constraint))
                        }
                        switch constraint {
                        // These have a meaning for any text. For example, `/*` matches every text.
                        case .containedBy, .notInQuery, .regex: continue
                        default: break
                        }
                        #expect(found ?? [] == [], "\(field) \(constraint)")
                    }
                }
                let related = Filter.related(owner: Pointer(className: text, objectId: text), key: text)
                #expect(await Self.harmless(text) { try await test.ids("T", related) } ?? [] == [])
            }
            try await Self.expectIntact(test)
        }
    }

    @Test("A hostile sort key is rejected or ignored")
    func orders() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            for text in Self.hostile {
                for key in [text, "o." + text, "l." + text, "n." + text, "score" + text] {
                    let found = await Self.harmless(key) {
                        try await test.ids("T", .everything, order: [SortKey(FieldPath(key), isDescending: true)])
                    }
                    #expect(found == nil || found?.sorted() == ["a", "b"], "\(key)")
                }
            }
            try await Self.expectIntact(test)
        }
    }

    @Test("Hostile class names and object ids find nothing and change nothing")
    func names() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            for text in Self.hostile {
                #expect(await Self.harmless(text) { try await test.ids(text, .everything) } ?? [] == [])
                #expect(await Self.harmless(text) { try await test.object("T", text) == nil } ?? true)
                #expect(await Self.harmless(text) { try await test.update("T", text, #"{"n":5}"#) == nil } ?? true)
                #expect(
                    await Self.harmless(text) { try await test.store.delete("T", objectId: text) } ?? false == false)
                #expect(
                    await Self.harmless(text) { try await test.store.delete(text, objectId: "a") } ?? false == false)
                var request = ObjectStore.FindRequest(className: "T")
                request.keys = [Name(text)]
                request.excluded = [Name(text)]
                request.access = ReadAccess(readers: [Name(text)], hidden: [Name(text)])
                let sent = request
                _ = await Self.harmless(text) { try await test.store.find(sent).rowCount }
            }
            try await Self.expectIntact(test)
        }
    }

    @Test("Stores hostile ids, strings and keys exactly as written")
    func storage() async throws {
        try await TestStore.run { test in
            for text in Self.hostile where !text.contains("\0") {
                var write = ObjectWrite()
                write.operations = [
                    "s": .set(.string(text)), "o": .set(["k": .string(text)]), "l": .set([.string(text)]),
                ]
                write.acl = ACL(readers: [Name(text)], writers: [Name(text)])
                _ = try await test.store.ensure("S", ["s": Field(.string), "o": Field(.object), "l": Field(.array)])
                try await test.store.insert("S", objectId: text, write)
                let object = try await test.object("S", text)
                #expect(object?["objectId"] == .string(text))
                #expect(object?["s"] == .string(text))
                #expect(object?["o"] == ["k": .string(text)])
                #expect(object?["l"] == [.string(text)])
                #expect(object?["ACL"]?.objectValue?.keys.first?.text == text)
                #expect(try await test.ids("S", .field(FieldPath("s"), .equal(.string(text)))) == [text])
                #expect(try await test.ids("S", .field(FieldPath("l"), .equal(.string(text)))) == [text])
                #expect(try await test.ids("S", .field(FieldPath("o.k"), .equal(.string(text)))) == [text])
                var nested = ObjectWrite()
                var path = FieldPath("o")
                path.steps = [text.replacing(".", with: "")]
                nested.operations = [Name(path.text): .set(1)]
                #expect(try await test.store.update("S", objectId: text, nested) != nil)
                #expect(try await test.store.delete("S", objectId: text))
            }
        }
    }

    @Test("Hostile class and field names can't inject DDL")
    func schemaNames() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            for text in Self.hostile where !text.contains("\0") {
                _ = await Self.harmless(text) { try await test.store.ensure("T", [Name(text): Field(.string)]) }
                _ = await Self.harmless(text) { try await test.store.ensure(text, ["f": Field(.pointer(Name(text)))]) }
            }
            try await Self.expectIntact(test)
            let tables = try await test.client.query(
                "SELECT count(*) FROM information_schema.tables WHERE table_name = '_User'")
            #expect(tables.int(0, 0) == 1)
        }
    }

    @Test("Rejects field names that PostgreSQL would truncate, and stores names of 63 bytes")
    func longNames() async throws {
        try await TestStore.run { test in
            let stem = String(repeating: "f", count: 100)
            #expect(try await parseCode { _ = try await test.create("L", "a", #"{"\#(stem)1":"one"}"#) } == 105)
            let longest = String(repeating: "f", count: 63)
            try await test.create("L", "b", #"{"\#(longest)":"one"}"#)
            #expect(try await test.value("L", "b", longest) == "one")
        }
    }
}
