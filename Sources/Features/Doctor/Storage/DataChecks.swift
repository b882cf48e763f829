import Encoding
import JSON
import ParseModel
import ParseStorage
import Postgres

/// Searches the rows for inconsistencies that PostgreSQL doesn't prevent, such as pointers to missing objects. Each
/// check has limits on rows and time.
struct DataChecks: Sendable {
    let client: PostgresClient
    let facts: DatabaseFacts
    /// The maximum number of rows per check.
    let maxRows: Int

    private static let examples = 5
    private static let timeLimit = Duration.seconds(10)

    static func count(_ table: String, _ client: PostgresClient) async throws -> Int {
        let statement = Statement("SELECT count(*) FROM \(SQL.identifier(table))")
        return Int(try await client.slowQuery(statement, timeLimit: timeLimit).int(0, 0) ?? 0)
    }

    /// A check of rows. Its statement returns the number of bad rows and some examples.
    private struct Question: Sendable {
        /// The class, field or table that the check is about. Reported if the check can't run.
        let subject: String
        let sql: String
        /// The finding to report, to which the number of bad rows and the examples are added.
        let finding: Finding
    }

    /// Runs all checks one after the other. Throws `PostgresError` if the connection fails, and `CancellationError`.
    func findings() async throws -> [Finding] {
        var findings: [Finding] = []
        for question in facts.classes.flatMap(questions(of:)) + userQuestions {
            try Task.checkCancellation()
            do {
                let rows = try await client.slowQuery(Statement(question.sql), timeLimit: Self.timeLimit)
                guard let count = rows.int(0, 0), count > 0 else { continue }
                var finding = question.finding
                finding.words += ": \(count)"
                finding.examples = rows.textArray(0, 1) ?? []
                findings.append(finding)
            } catch let error as PostgresError where error.kind == .server {
                let why = error.sqlState == "57014" ? "it takes longer than \(Self.timeLimit)" : error.message
                findings.append(Finding(.notLookedAt, .note, question.subject, "not checked: \(why)"))
            }
        }
        return findings
    }

    private static func counting(_ query: String) -> String {
        "SELECT count(*), (array_agg(x ORDER BY x))[1:\(examples)] FROM (\(query)) AS found (x)"
    }

    private func questions(of schema: ClassSchema) -> [Question] {
        guard let stored = facts.tables[schema.name], stored.column("objectId") != nil else { return [] }
        let documents = schema.fields.filter { name, field in
            TableLayout.columnType(field.type) == "jsonb" && field.type != .bytes
                && stored.column(name.text)?.type == PostgresType.jsonb.rawValue
        }.map(\.key)
        return schema.fields.compactMap { name, field -> Question? in
            switch field.type {
            case .pointer(let target): danglingPointers(schema.name, name.text, target.text)
            case .relation(let target): orphanedRows(schema.name, name.text, target.text)
            default: nil
            }
        } + documents.map { literalOperations(schema.name, $0.text) }
    }

    private func danglingPointers(_ className: String, _ field: String, _ target: String) -> Question? {
        guard let column = facts.tables[className]?.column(field), column.type == PostgresType.text.rawValue else {
            return nil
        }
        let quoted = SQL.identifier(field)
        let owners =
            "(SELECT \"objectId\" AS id, \(quoted) AS target FROM \(SQL.identifier(className)) "
            + "WHERE \(quoted) IS NOT NULL LIMIT \(maxRows)) AS s"
        let condition = exists(target, "s.target").map { " WHERE NOT \($0)" } ?? ""
        return Question(
            subject: "\(className).\(field)", sql: Self.counting("SELECT s.id::text FROM \(owners)\(condition)"),
            finding: Finding(
                .danglingPointers, .warning, "\(className).\(field)", "pointers to missing objects of \(target)"))
    }

    private func orphanedRows(_ className: String, _ field: String, _ target: String) -> Question? {
        let join = TableLayout.joinTable(field: field, className: className)
        guard join.utf8.count <= 63, facts.tables[Name(join)] != nil else { return nil }
        let ends = [exists(className, "j.\"owningId\""), exists(target, "j.\"relatedId\"")].compactMap { $0 }
        let condition = ends.count < 2 ? "" : " WHERE NOT (\(ends.joined(separator: " AND ")))"
        let table = SQL.identifier(join)
        let rows =
            "SELECT j.\"owningId\" || ' → ' || j.\"relatedId\" FROM (SELECT * FROM \(table) LIMIT \(maxRows)) j"
        // No remedy if a class has no table: the table may be missing by mistake, and every row would be deleted.
        let remedy =
            ends.count < 2
            ? nil
            : Finding.Remedy(
                words: "remove the orphaned rows of the relation \(className).\(field)",
                statements: ["DELETE FROM \(table) j\(condition)"])
        return Question(
            subject: join, sql: Self.counting(rows + condition),
            finding: Finding(
                .orphanedRelationRows, .warning, "\(className).\(field)", "relation rows from or to missing objects",
                remedy: remedy))
    }

    /// Returns the condition that an object exists, or nil if its class has no table.
    private func exists(_ className: String, _ id: String) -> String? {
        guard facts.tables[className]?.column("objectId") != nil else { return nil }
        return "EXISTS (SELECT FROM \(SQL.identifier(className)) t WHERE t.\"objectId\" = \(id))"
    }

    private func literalOperations(_ className: String, _ field: String) -> Question {
        let column = SQL.identifier(field)
        // Within a JSON string the quotation marks would be escaped.
        let rows =
            "SELECT \"objectId\"::text FROM (SELECT \"objectId\", \(column) AS v FROM \(SQL.identifier(className)) "
            + "WHERE \(column) IS NOT NULL LIMIT \(maxRows)) s WHERE position('\"__op\": ' in s.v::text) > 0"
        return Question(
            subject: "\(className).\(field)", sql: Self.counting(rows),
            finding: Finding(
                .literalOperations, .warning, "\(className).\(field)",
                "objects with an operation (__op) stored as data"))
    }

    private var userQuestions: [Question] {
        var questions: [Question] = []
        if let users = facts.tables["_User"] {
            if users.column("_hashed_password")?.type == PostgresType.text.rawValue {
                questions.append(oddHashes)
            }
            questions += ["username", "email"].filter { users.column($0)?.type == PostgresType.text.rawValue }
                .map { twins("_User", $0, "users") }
        }
        if facts.tables["_Role"]?.column("name")?.type == PostgresType.text.rawValue {
            questions.append(twins("_Role", "name", "roles"))
        }
        return questions
    }

    private var oddHashes: Question {
        let rows =
            "SELECT \"objectId\"::text FROM (SELECT \"objectId\", \"_hashed_password\" AS h FROM \"_User\" "
            + "WHERE \"_hashed_password\" IS NOT NULL LIMIT \(maxRows)) s "
            + "WHERE h !~ '^[$]2[abxy][$](0[4-9]|[12][0-9]|3[01])[$][./A-Za-z0-9]{53}$'"
        return Question(
            subject: "_User", sql: Self.counting(rows),
            finding: Finding(
                .oddHashes, .error, "_User", "users whose password hash isn't bcrypt and who must reset their password")
        )
    }

    private func twins(_ className: String, _ field: String, _ what: String) -> Question {
        let column = SQL.identifier(field)
        let rows =
            "SELECT min(v) FROM (SELECT \(column) AS v FROM \(SQL.identifier(className)) "
            + "WHERE \(column) IS NOT NULL LIMIT \(maxRows)) s GROUP BY lower(v) HAVING count(*) > 1"
        return Question(
            subject: "\(className).\(field)", sql: Self.counting(rows),
            finding: Finding(
                .sameInAnyCase, .warning, "\(className).\(field)",
                "values of several \(what) that differ only in case"))
    }
}
