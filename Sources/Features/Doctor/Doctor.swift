import JSON
import ParseModel
import ParseStorage
public import Postgres

/// Examines a database of Roost or parse-server without changing it, and applies the remedies that the operator
/// chooses.
public struct Doctor: Sendable {
    public struct ClassSize: Sendable {
        /// The name of the class or join table.
        public let name: String
        /// The number of rows, or 0 if it is unknown.
        public let rows: Int
        /// Whether `rows` is an estimate from PostgreSQL's statistics.
        public let isEstimate: Bool
        /// The size in bytes, including indexes.
        public let bytes: Int
    }

    /// The result of an examination.
    public struct Report: Sendable {
        /// The existing tables of classes and relations, sorted by name.
        public var classes: [ClassSize]
        /// The problems found, most severe first.
        public var findings: [Finding]
        /// The size of the database in bytes.
        public var size: Int
        /// The version of PostgreSQL, for example 150004 for 15.4.
        public var version: Int
    }

    private let client: PostgresClient
    private let maxRows: Int

    /// - Parameter rows: The maximum number of rows per check.
    public init(client: PostgresClient, rows: Int = 100_000) {
        self.client = client
        maxRows = max(1, rows)
    }

    /// Runs all checks.
    ///
    /// - Throws: `PostgresError` if the database can't be read, or `CancellationError`.
    public func examine() async throws -> Report {
        let facts = try await DatabaseFacts.read(client)
        var findings = LayoutDiagnosis(facts: facts).findings + SettingsDiagnosis.findings(facts)
        findings += try await DataChecks(client: client, facts: facts, maxRows: maxRows).findings()
        findings += try await SlowQueries(client: client, facts: facts).findings()
        findings += StartDiagnosis(facts: facts).findings
        findings += facts.skew.map { Finding(.skew, .warning, $0.table, $0.warning) }
        return Report(
            classes: try await sizes(facts), findings: findings.sorted { $0.severity > $1.severity }, size: facts.size,
            version: facts.version)
    }

    /// The table size in bytes up to which rows are counted. Larger tables are counted only if there is no estimate.
    private static let countedSize = 16 << 20

    private func sizes(_ facts: DatabaseFacts) async throws -> [ClassSize] {
        var names = Set(facts.classes.map { Name($0.name) }).union(SystemClass.volatileNames)
        for relation in facts.classes.flatMap(\.relations) { names.insert(Name(relation.table)) }
        var sizes: [ClassSize] = []
        for table in facts.tables.values.filter({ names.contains(Name($0.name)) }).sorted(by: {
            Name($0.name) < Name($1.name)
        }) {
            try Task.checkCancellation()
            var rows = table.estimatedRows
            var isEstimate = true
            if table.size <= Self.countedSize || rows == nil {
                if let counted = try? await DataChecks.count(table.name, client) {
                    rows = counted
                    isEstimate = false
                }
            }
            sizes.append(ClassSize(name: table.name, rows: rows ?? 0, isEstimate: isEstimate, bytes: table.size))
        }
        return sizes
    }

    /// Runs the statements of a remedy.
    ///
    /// - Throws: `PostgresError` if a statement fails. Earlier statements keep their effect.
    public func apply(_ remedy: Finding.Remedy) async throws {
        for statement in remedy.statements { try await client.execute(script: statement) }
    }
}
