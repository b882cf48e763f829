import Doctor
import JSON
import ParseModel
import ParseStorage
import Testing

/// Assessments of `roost doctor` that need no database.
@Suite struct DiagnosisTests {
    private static let columns: [(String, UInt32, String)] = [
        ("objectId", 25, "text"), ("createdAt", 1184, "timestamp with time zone"), ("artist", 25, "text"),
        ("plays", 701, "double precision"), ("data", 3802, "jsonb"), ("_rperm", 1009, "text[]"),
    ]

    private static func facts(indexes: [[String]] = []) -> DatabaseFacts {
        var facts = DatabaseFacts()
        var table = StoredTable(name: "Song", estimatedRows: nil, size: 0)
        table.columns = columns.map {
            StoredTable.Column(name: $0.0, type: $0.1, typeName: $0.2, isGenerated: false)
        }
        facts.tables["Song"] = table
        facts.indexes = indexes.map {
            DatabaseFacts.Index(name: "i", table: "Song", isValid: true, keys: $0, isWhole: true)
        }
        return facts
    }

    @Test("Warns about a class with more than 100 fields to which every client can add more")
    func growth() {
        func findings(_ count: Int, _ permissions: ClassLevelPermissions?) -> [Finding] {
            var facts = DatabaseFacts()
            var schema = ClassSchema(name: "Song", permissions: permissions)
            for number in 0..<count { schema.fields[Name("f\(number)")] = Field(.number) }
            facts.rows = [(name: "Song", json: .object(TableLayout.schemaRow(of: schema)))]
            return LayoutDiagnosis(facts: facts).findings.filter { $0.kind == .growingClass }
        }
        #expect(findings(100, nil).isEmpty)
        #expect(findings(101, nil).map(\.severity) == [.warning])
        #expect(findings(101, ClassLevelPermissions(json: ["find": ["*": true]])).isEmpty)
    }

    /// A find, the existing indexes, and the columns of the index to advise.
    struct Case: CustomTestStringConvertible, Sendable {
        var className = "Song"
        let filter: JSONObject
        var order = ""
        var limit: Int?
        var isCount = false
        var indexes: [[String]] = []
        let columns: [String]?

        var testDescription: String { "\(JSONValue.object(filter).text) \(order) \(limit ?? 0) \(indexes)" }
    }

    private static let inArtists: JSONValue = ["$inQuery": ["className": "_User", "where": ["n": 1]]]
    private static let cases = [
        Case(filter: ["artist": "a"], limit: 100, columns: ["artist"]),
        Case(filter: ["artist": "a"], order: "-createdAt,objectId", limit: 100, columns: ["artist", "createdAt"]),
        Case(filter: ["artist": "a"], order: "-createdAt", columns: ["artist"]),
        Case(filter: ["artist": "a", "plays": ["$gte": 1]], columns: ["artist", "plays"]),
        Case(filter: ["artist": ["$in": ["a", "b"]]], isCount: true, columns: ["artist"]),
        Case(filter: ["artist": "a"], indexes: [["artist", "plays"]], columns: nil),
        Case(filter: ["plays": 1, "artist": "a"], indexes: [["artist", "plays"]], columns: nil),
        Case(filter: ["$or": [["plays": 1], ["artist": "a"]]], columns: nil),
        Case(filter: ["artist": ["$ne": "a"]], columns: nil),
        Case(filter: ["objectId": ["$in": ["a", "b"]]], columns: nil),
        Case(filter: ["data": ["a": 1]], columns: nil),
        Case(filter: ["data.a": 1], columns: nil),
        Case(filter: [:], order: "plays", limit: 100, columns: ["plays"]),
        Case(className: "Other", filter: ["artist": "a"], columns: nil),
        Case(filter: [:], isCount: true, columns: nil),
        Case(filter: ["artist": inArtists], columns: ["artist"]),
        Case(filter: ["artist": ["$regex": "^\\Qabc\\E"]], columns: ["artist"]),
        Case(filter: ["artist": ["$regex": "abc"]], columns: nil),
        Case(filter: ["plays": ["$gt": 1]], limit: 100, columns: nil),
    ]

    @Test("Advises an index that begins with the fields compared for equality, if one helps", arguments: cases)
    func index(test: Case) throws {
        var request = ObjectStore.FindRequest(className: test.className)
        request.filter = try FilterParser(isMaster: true, now: 0).parse(test.filter)
        (request.order, request.limit) = (SortKey.list(.string(test.order)), test.limit)
        let schema = ClassSchema(
            name: test.className,
            fields: ["artist": Field(.string), "plays": Field(.number), "data": Field(.object)])
        let notes = FindNotes()
        if let shape = QueryShape(request, schema, isCount: test.isCount) {
            notes.record(shape, took: .milliseconds(100), isTimeout: false)
        }
        let noted = notes.drain().map { (shape: $0, today: $1, month: $1) }
        let advice = IndexAdviser.estimates(for: noted, Self.facts(indexes: test.indexes))
        #expect(advice.first?.columns == test.columns)
    }

    private static func settings(_ settings: [String: String], size: Int = 0) -> [String] {
        var facts = DatabaseFacts()
        facts.settings = settings
        facts.size = size
        facts.version = 150_000
        return SettingsDiagnosis.findings(facts).map(\.subject)
    }

    @Test("Reports PostgreSQL settings that risk data or performance")
    func settings() {
        #expect(Self.settings(["fsync": "on", "autovacuum": "on", "shared_buffers": "134217728"]) == [])
        #expect(
            Self.settings(["fsync": "off", "full_page_writes": "off", "autovacuum": "off", "track_counts": "off"])
                == ["fsync", "full_page_writes", "autovacuum", "track_counts"])
        #expect(Self.settings(["synchronous_commit": "off"]) == ["synchronous_commit"])
        #expect(Self.settings(["zero_damaged_pages": "on"]) == ["zero_damaged_pages"])
        #expect(Self.settings(["server_encoding": "LATIN1"]) == ["server_encoding"])
        #expect(Self.settings(["shared_buffers": "33554432"]) == ["shared_buffers"])
        #expect(Self.settings(["shared_buffers": "134217728"], size: 2 << 30) == ["shared_buffers"])
        #expect(Self.settings(["shared_buffers": "1073741824"], size: 64 << 30) == [])
    }
}
