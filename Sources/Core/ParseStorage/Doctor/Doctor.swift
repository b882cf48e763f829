import JSON
import ParseModel
public import Postgres

/// Looks a database over, Roost's or parse-server's, without changing anything, and puts right what the operator names.
public struct Doctor: Sendable {
    /// The size of a class.
    public struct ClassSize: Sendable {
        /// The class or relation.
        public let name: String
        /// Its rows.
        public let rows: Int
        /// Whether they are an estimate of the database's statistics.
        public let isEstimate: Bool
        /// Bytes, with indexes.
        public let bytes: Int
    }

    /// What was found.
    public struct Report: Sendable {
        /// The classes, volatile ones and relations included, by name.
        public var classes: [ClassSize]
        /// What may be amiss, the worst first.
        public var findings: [Finding]
        /// The bytes of the database.
        public var size: Int
        /// The version of PostgreSQL, 150004 for 15.4.
        public var version: Int
    }

    private let client: PostgresClient
    private let limits: DataChecks.Limits

    /// Makes a doctor for a database.
    ///
    /// - Parameters:
    ///   - rows: How many rows of a table are looked at for one question.
    ///   - seconds: How long one question may take.
    public init(client: PostgresClient, rows: Int = 100_000, seconds: Int = 10) {
        self.client = client
        limits = DataChecks.Limits(rows: max(1, rows), time: .seconds(max(1, seconds)))
    }

    /// Looks at everything.
    ///
    /// - Throws: `PostgresError` when the database cannot be read.
    public func examine() async throws -> Report {
        let facts = try await DatabaseFacts.read(client)
        var findings = LayoutDiagnosis(facts: facts).findings + SettingsDiagnosis(facts: facts).findings
        findings += try await DataChecks(client: client, facts: facts, limits: limits).findings()
        findings += try await SlowQueries(client: client, facts: facts).findings()
        findings += StartDiagnosis(facts: facts).findings + facts.skew
        let sorted = findings.enumerated().sorted { left, right in
            left.element.severity == right.element.severity
                ? left.offset < right.offset : left.element.severity > right.element.severity
        }.map(\.element)
        return Report(
            classes: try await sizes(facts), findings: sorted, size: facts.size, version: facts.version)
    }

    /// Tables up to this size, in bytes, are counted. Others use statistics.
    private static let countedSize = 16 << 20

    private func sizes(_ facts: DatabaseFacts) async throws -> [ClassSize] {
        var names = Set(facts.classes.map { Name($0.name) }).union(SystemClass.volatileNames)
        for schema in facts.classes {
            for (name, field) in schema.fields where field.type.isRelation {
                names.insert(Name(TableLayout.joinTable(field: name.text, className: schema.name)))
            }
        }
        var sizes: [ClassSize] = []
        for table in facts.tables.values.filter({ names.contains(Name($0.name)) }).sorted(by: {
            Name($0.name) < Name($1.name)
        }) {
            try Task.checkCancellation()
            var rows = table.estimatedRows
            var isEstimate = true
            if table.size <= Self.countedSize || rows == nil {
                let statement = Statement("SELECT count(*) FROM \(SQL.identifier(table.name))")
                if let counted = try? await client.slowQuery(statement, timeLimit: limits.time) {
                    rows = counted.int(0, 0).map { Int($0) }
                    isEstimate = false
                }
            }
            sizes.append(ClassSize(name: table.name, rows: rows ?? 0, isEstimate: isEstimate, bytes: table.size))
        }
        return sizes
    }

    /// Carries out a remedy.
    ///
    /// - Throws: `PostgresError` when a statement fails; those before it are kept.
    public func apply(_ remedy: Finding.Remedy) async throws {
        for statement in remedy.statements { try await client.execute(script: statement, isTimeLimited: false) }
    }
}
