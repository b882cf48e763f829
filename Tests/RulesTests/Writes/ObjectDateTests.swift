import JSON
import ParseModel
import Rules
import Testing

@Suite("Creation and update dates")
struct ObjectDateTests {
    private static let callers = [Caller.nobody, .user("u1"), .master, .readOnlyMaster, .maintenance]
    private static let early = "2001-02-03T04:05:06.789Z"
    private static let late = "2011-12-13T14:15:16.170Z"
    private static let now = ParseDate(milliseconds: 1_700_000_000_000)

    private static func date(_ iso: String) -> JSONValue { ["__type": "Date", "iso": .string(iso)] }

    // MARK: - Allowed dates

    @Test("Accepts dates from every caller", arguments: callers)
    func dates(caller: Caller) throws {
        for name in ["createdAt", "updatedAt"] {
            for value in [Self.date(Self.early), .null] {
                try ObjectDates.check([Name(name): value], "Song", caller)
            }
        }
        try ObjectDates.check([:], "Song", caller)
    }

    @Test("Accepts ISO strings only with the master or maintenance key")
    func texts() throws {
        for name in ["createdAt", "updatedAt"] {
            let body: JSONObject = [Name(name): .string(Self.early)]
            try ObjectDates.check(body, "Song", .master)
            try ObjectDates.check(body, "Song", .maintenance)
            for caller in [Caller.nobody, .user("u1"), .readOnlyMaster] {
                #expect(throws: ParseError(111, "schema mismatch for Song.\(name); expected Date but got String")) {
                    try ObjectDates.check(body, "Song", caller)
                }
            }
        }
    }

    @Test(
        "Rejects values that aren't dates from every caller",
        arguments: [
            ("yesterday", "String"), ("", "String"), (5, "Number"), (true, "Boolean"), ([], "Array"),
            (["iso": "2001-02-03T04:05:06.789Z"], "Object"), (["__op": "Delete"], "Object"),
            (["__type": "Pointer", "className": "A", "objectId": "a"], "Pointer<A>"),
        ] as [(JSONValue, String)])
    func others(value: JSONValue, type: String) {
        for caller in Self.callers {
            for name in ["createdAt", "updatedAt"] {
                #expect(throws: ParseError(111, "schema mismatch for Song.\(name); expected Date but got \(type)")) {
                    try ObjectDates.check([Name(name): value], "Song", caller)
                }
            }
        }
    }

    @Test("Rejects a Date without a time")
    func malformed() {
        #expect(throws: ParseError(111, "This is not a valid Date")) {
            try ObjectDates.check(["createdAt": ["__type": "Date"]], "Song", .master)
        }
    }

    // MARK: - Resulting dates

    private static func ofNew(_ body: JSONObject, _ caller: Caller = .maintenance) throws -> [ParseDate] {
        let context = RequestContext(caller: caller, mountURL: "https://a.example/parse", now: now)
        let (created, updated) = try ObjectDates.ofNew(body, context)
        return [created, updated]
    }

    @Test("Without the maintenance key, new objects always get the current time", arguments: callers.dropLast())
    func ofNow(caller: Caller) throws {
        let body: JSONObject = ["createdAt": Self.date(Self.early), "updatedAt": Self.date(Self.late)]
        #expect(try Self.ofNew(body, caller) == [Self.now, Self.now])
    }

    @Test("The maintenance key can set the dates of new objects, as Dates or strings")
    func maintenance() throws {
        let early = try #require(ParseDate(iso: Self.early))
        let late = try #require(ParseDate(iso: Self.late))
        for form in [Self.date, { .string($0) }] as [(String) -> JSONValue] {
            #expect(
                try Self.ofNew(["createdAt": form(Self.early), "updatedAt": form(Self.late)]) == [early, late])
            #expect(try Self.ofNew(["createdAt": form(Self.early)]) == [early, early])
            #expect(
                try Self.ofNew(["createdAt": form(Self.late), "updatedAt": form(Self.late)]) == [late, late])
        }
    }

    @Test("Without a valid createdAt, new objects get the current time", arguments: ["updatedAt", "other"])
    func withoutCreation(name: String) throws {
        #expect(try Self.ofNew([Name(name): Self.date(Self.early)]) == [Self.now, Self.now])
        #expect(try Self.ofNew(["createdAt": .null, Name(name): Self.date(Self.early)]) == [Self.now, Self.now])
        #expect(try Self.ofNew(["createdAt": Self.date("never")]) == [Self.now, Self.now])
    }

    @Test("Rejects an updatedAt before createdAt")
    func order() {
        #expect(throws: ParseError(142, "updatedAt cannot occur before createdAt")) {
            try Self.ofNew(["createdAt": Self.date(Self.late), "updatedAt": Self.date(Self.early)])
        }
    }
}
