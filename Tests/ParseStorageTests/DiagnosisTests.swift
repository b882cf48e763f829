import JSON
import ParseModel
import ParseStorage
import Testing

/// Judgements of `roost doctor` that need no database.
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

    @Test("A class with many fields to which every client may add more is worth a warning")
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

    /// A statement, the indexes that there are, and the columns of the one that helps.
    struct Case: CustomTestStringConvertible, Sendable {
        let statement: String
        var indexes: [[String]] = []
        let columns: [String]?

        var testDescription: String { statement }
    }

    private static let cases = [
        Case(statement: "SELECT * FROM \"Song\" WHERE \"artist\" = $1 LIMIT $2", columns: ["artist"]),
        Case(
            statement:
                "SELECT * FROM \"Song\" WHERE \"artist\" = $1 ORDER BY \"createdAt\" DESC, \"objectId\" LIMIT $2",
            columns: ["artist", "createdAt"]),
        Case(
            statement: "SELECT * FROM \"Song\" WHERE \"artist\" = $1 ORDER BY \"createdAt\" DESC", columns: ["artist"]),
        Case(
            statement: "SELECT * FROM \"Song\" WHERE \"artist\" = $1 AND \"plays\" >= $2", columns: ["artist", "plays"]),
        Case(
            statement: "SELECT * FROM \"Song\" WHERE \"artist\" = $1 AND (\"_rperm\" IS NULL OR \"_rperm\" && $2)",
            columns: ["artist"]),
        Case(
            statement: "SELECT * FROM \"Song\" WHERE \"artist\" = $1", indexes: [["artist", "plays"]], columns: nil),
        Case(
            statement: "SELECT * FROM \"Song\" WHERE \"plays\" = $1 AND \"artist\" = $2",
            indexes: [["artist", "plays"]],
            columns: nil),
        Case(statement: "SELECT * FROM \"Song\" WHERE (\"plays\" = $1 OR \"artist\" = $2)", columns: nil),
        Case(statement: "SELECT * FROM \"Song\" WHERE \"objectId\" = $1", columns: nil),
        Case(statement: "SELECT * FROM \"Song\" WHERE \"data\" = $1", columns: nil),
        Case(statement: "SELECT * FROM \"Song\" ORDER BY \"plays\" LIMIT $1", columns: ["plays"]),
        Case(statement: "SELECT * FROM \"Other\" WHERE \"artist\" = $1", columns: nil),
        Case(statement: "SELECT count(*) FROM \"Song\"", columns: nil),
        Case(statement: "DELETE FROM \"Song\" WHERE \"artist\" = $1", columns: ["artist"]),
        Case(statement: "SELECT \"", columns: nil),
        Case(statement: "FROM \"Song\" WHERE \"artist", columns: nil),
        Case(
            statement: "SELECT * FROM \"Song\" WHERE \"artist\" IN (SELECT \"objectId\" FROM \"_User\")",
            columns: ["artist"]),
        Case(statement: "SELECT * FROM \"Song\" WHERE \"artist\" LIKE $1", columns: ["artist"]),
        Case(statement: "SELECT * FROM \"Song\" WHERE \"artist\" ~ $1", columns: nil),
        Case(statement: "SELECT * FROM \"Song\" WHERE \"plays\" > $1 LIMIT $2", columns: nil),
    ]

    @Test("The index that would help a statement begins with what is compared for equality", arguments: cases)
    func index(test: Case) {
        let notes = SlowQueries.notes(of: test.statement, mean: 100, calls: 1)
        let advice = IndexAdviser.estimates(for: notes, Self.facts(indexes: test.indexes))
        #expect(advice.first?.columns == test.columns)
    }

    private static func settings(_ settings: [String: String], size: Int = 0) -> [String] {
        var facts = DatabaseFacts()
        facts.settings = settings
        facts.size = size
        facts.version = 150_000
        return SettingsDiagnosis(facts: facts).findings.map(\.subject)
    }

    @Test("Settings that lose data or time are told")
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

    @Test("Permissions that no ACL gives back are told apart from those that one does")
    func permissions() {
        #expect(ExactPermissions.isExact(nil, nil))
        #expect(ExactPermissions.isExact([], []))
        #expect(ExactPermissions.isExact(["a", "b"], ["b", "c", "d"]))
        #expect(!ExactPermissions.isExact(nil, []))
        #expect(!ExactPermissions.isExact([], nil))
        #expect(!ExactPermissions.isExact(["a", "b"], ["b", "a"]))
        #expect(!ExactPermissions.isExact(["a", "a"], []))
        #expect(!ExactPermissions.isExact(["a"], ["c", "a"]))
    }
}
