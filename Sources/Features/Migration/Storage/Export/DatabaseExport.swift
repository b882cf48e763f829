import JSON
import OrderedCollections
public import ParseModel
public import ParseStorage
public import Postgres

/// A consistent snapshot of a database for export.
public struct DatabaseExport: Sendable {
    public enum Form: String, Sendable, CaseIterable {
        /// Objects in the JSON format of the REST API, as exported by Parse.com and Back4App.
        case parse
        /// Documents as parse-server stores them in MongoDB, in canonical Extended JSON.
        case mongo
    }

    /// The options of an export.
    public struct Request: Sendable {
        public var form = Form.parse
        /// The classes to export, or nil for all.
        public var classes: [String]?
        /// The earliest `updatedAt` to export, or nil for all rows. Rows without an `updatedAt` are always exported.
        public var since: ParseDate?
        /// The URLs to write for files.
        public var links: FileLinks

        public init(classes: [String]? = nil, since: ParseDate? = nil, links: FileLinks) {
            self.classes = classes
            self.since = since
            self.links = links
        }
    }

    /// A class or relation to export.
    public struct Table: Sendable {
        /// The class name, or `_Join:field:Class` for a relation.
        public let name: String
        public let isRelation: Bool
        /// The row count from PostgreSQL's statistics, or nil if it isn't known.
        public let estimatedRows: Int?
        /// The source of the rows, or nil if the database has no such table.
        let source: Source?
    }

    struct Source: Sendable {
        let statement: Statement
        /// The query for the approximate size of each row in bytes, in the order of the rows, or nil if all rows are
        /// small.
        let sizes: Statement?
        /// The formatter of the rows.
        let rows: any ExportRows
    }

    /// An error that prevents the export.
    public struct Refusal: Error, CustomStringConvertible {
        public let description: String
    }

    /// The classes and their relations, sorted by class name.
    public let tables: [Table]
    /// The class definitions, sorted by name: in the format of the schemas API, without default permissions, or as
    /// MongoDB documents.
    public let schemas: [[UInt8]]
    /// The time of the snapshot, from the database clock.
    public let time: ParseDate
    private let snapshot: DatabaseSnapshot

    /// Classes that exports skip because their rows soon expire.
    private static let passing: Set<Name> = ["_Idempotency"]

    /// Holds a snapshot of the database while `body` runs.
    ///
    /// - Throws: ``Refusal`` for unknown classes or a missing `_SCHEMA`, `PostgresError`, or an error of `body`.
    public static func run<R: Sendable>(
        _ client: PostgresClient, _ request: Request, _ body: @Sendable (DatabaseExport) async throws -> R
    ) async throws -> R {
        try await DatabaseSnapshot.hold(client) { snapshot in
            let export = try await snapshot.read { session in try await open(session, snapshot, request) }
            return try await body(export)
        }
    }

    private static func open(
        _ session: PostgresSession, _ snapshot: DatabaseSnapshot, _ request: Request
    ) async throws -> DatabaseExport {
        let results = try await session.group([
            StoredTable.listing, Statement("SELECT to_regclass('\"_SCHEMA\"') IS NOT NULL, now()"),
        ])
        guard results.count == 2, results[1].bool(0, 0) == true else {
            throw Refusal(description: "no table _SCHEMA: the database isn't from Roost or parse-server")
        }
        let tables = StoredTable.read(results[0])
        let rows = try await session.query(
            "SELECT \"className\"::text, \"schema\" FROM \"_SCHEMA\" ORDER BY \"className\" COLLATE \"C\"")
        var classes: OrderedDictionary<Name, ClassSchema> = [:]
        for row in 0..<rows.rowCount {
            guard let name = rows.string(row, 0), let bytes = rows.jsonb(row, 1) else { continue }
            classes[Name(name)] = TableLayout.schema(name: name, row: try JSONValue(parsing: bytes))
        }
        var volatile: OrderedDictionary<Name, ClassSchema> = [:]
        for name in SystemClass.volatileNames where !passing.contains(name) && tables[name] != nil {
            volatile[name] = ClassSchema(name: name.text)
        }
        if let wanted = request.classes.map({ Set($0.map { Name($0) }) }) {
            for name in wanted where classes[name] == nil && volatile[name] == nil {
                throw Refusal(description: "class not found: \(name)")
            }
            classes = classes.filter { wanted.contains($0.key) }
            volatile = volatile.filter { wanted.contains($0.key) }
        }
        let handmade = try ClassIndexes.read(
            try await session.query(ClassIndexes.handmade, [.textArray(classes.keys.map(\.text))]))
        let all = (Array(classes.values) + Array(volatile.values)).sorted { Name($0.name) < Name($1.name) }
        return DatabaseExport(
            tables: all.flatMap { Self.tables(of: $0, tables, request) },
            schemas: classes.values.map { description($0, handmade[Name($0.name)] ?? [:], request.form) },
            time: ParseDate(milliseconds: results[1].timestamp(0, 1) ?? 0), snapshot: snapshot)
    }

    private static func tables(
        of schema: ClassSchema, _ stored: [Name: StoredTable], _ request: Request
    ) -> [Table] {
        var tables = [classTable(schema, stored[Name(schema.name)], request)]
        for (_, join) in schema.relations {
            // PostgreSQL truncates names to 63 bytes.
            let known = stored[Name(join)] ?? stored[Name(cut(join))]
            let source = known.map { _ in
                Source(
                    statement: Statement(
                        "SELECT \"owningId\"::text, \"relatedId\"::text FROM \(SQL.identifier(join))"),
                    sizes: nil, rows: RelationRows())
            }
            tables.append(
                Table(name: join, isRelation: true, estimatedRows: known?.estimatedRows, source: source))
        }
        return tables
    }

    private static func cut(_ name: String) -> String {
        var bytes = Array(name.utf8.prefix(63))
        while String(validating: bytes, as: UTF8.self) == nil { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func classTable(_ schema: ClassSchema, _ stored: StoredTable?, _ request: Request) -> Table {
        guard let stored else {
            return Table(name: schema.name, isRelation: false, estimatedRows: nil, source: nil)
        }
        let plan = ExportPlan(schema, stored)
        let table = SQL.identifier(schema.name)
        var statement = Statement("SELECT \(plan.selectList) FROM \(table)")
        var sizes = stored.rowSize.map { Statement("SELECT \($0) FROM \(table)") }
        if let since = request.since, stored.column("updatedAt")?.type == PostgresType.timestamptz.rawValue {
            // parse-server doesn't set `updatedAt` of job statuses.
            let condition = " WHERE \"updatedAt\" >= $1 OR \"updatedAt\" IS NULL"
            let parameters: [PostgresParameter] = [.timestamp(milliseconds: since.milliseconds)]
            statement.sql += condition
            statement.parameters = parameters
            sizes?.sql += condition
            sizes?.parameters = parameters
        }
        return Table(
            name: schema.name, isRelation: false, estimatedRows: stored.estimatedRows,
            source: Source(
                statement: statement, sizes: sizes,
                rows: request.form == .mongo
                    ? MongoRows(plan: plan, className: schema.name) : ClassRows(plan: plan, links: request.links)))
    }

    private static func description(_ schema: ClassSchema, _ handmade: JSONObject, _ form: Form) -> [UInt8] {
        let indexes = schema.indexes.merging(handmade) { listed, _ in listed }
        if form == .mongo { return MongoSchema.document(of: schema, indexes: indexes) }
        var fields: JSONObject = [:]
        for (name, field) in schema.fields { fields[name] = .object(field.json) }
        var object: JSONObject = ["className": .string(schema.name), "fields": .object(fields)]
        if let permissions = schema.permissions { object["classLevelPermissions"] = .object(permissions.source) }
        if !indexes.isEmpty { object["indexes"] = .object(indexes) }
        return object.serialized()
    }

    /// Reads the rows of a table.
    ///
    /// - Parameters:
    ///   - separator: The bytes between two rows.
    ///   - use: Receives the JSON of one or more rows with separators between them, and the number of rows.
    /// - Throws: ``Refusal`` if the class was changed during the export, `PostgresError`, or an error of `use`.
    public func read(
        _ table: Table, separator: [UInt8], _ use: @Sendable ([UInt8], Int) async throws -> Void
    ) async throws {
        guard let source = table.source else { return }
        let rows = source.rows
        do {
            try await RowCursor(statement: source.statement, sizes: source.sizes).visit(snapshot) { result in
                guard result.rowCount > 0 else { return }
                var writer = JSONWriter(capacity: result.size + 64 * result.rowCount)
                for row in 0..<result.rowCount {
                    if row > 0 { writer.raw(separator) }
                    rows.write(result, row, into: &writer)
                }
                try await use(writer.bytes, result.rowCount)
            }
        } catch let error as PostgresError where ["42P01", "42703", "42804"].contains(error.sqlState) {
            throw Refusal(description: "\(table.name) changed during the export. Export again")
        }
    }
}
