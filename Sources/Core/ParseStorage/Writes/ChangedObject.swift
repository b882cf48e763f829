public import JSON
import ParseModel
import Postgres
import Tasks

extension ObjectStore {
    /// What the caller of a write wants to know of the object, besides whether it was written.
    public struct ChangeWants: OptionSet, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The object as the statement found it.
        public static let former = ChangeWants(rawValue: 1)
        /// The object as the statement left it.
        public static let current = ChangeWants(rawValue: 2)
        /// The place of the change among all changes of objects in the database.
        public static let number = ChangeWants(rawValue: 4)
    }

    /// One object as one statement found it and left it: nothing happened to it between the two.
    public struct ChangedObject: Sendable {
        /// The object's class.
        public let className: String
        /// The object's id.
        public let objectId: String
        /// The place of the change among all changes of objects: it is taken while the statement holds the row, so that of
        /// two changes of one object the later one has the greater number. nil where it was not wanted.
        public let number: Int64?
        /// Whether the object as it is now was wanted, or there is none any more.
        public let isWhole: Bool
        let result: PostgresResult
        let plan: ReadPlan
        let formerRow: Int?
        let currentRow: Int?

        /// About how many bytes its rows are.
        public var size: Int { result.size / max(1, result.rowCount) * (formerRow == nil || currentRow == nil ? 1 : 2) }

        /// The object as it was; nil where it is new.
        ///
        /// - Parameters:
        ///   - access: With whose eyes; only the fields that it hides are looked at.
        ///   - links: How its files are linked to.
        /// - Throws: 116 where it is nested deeper than values are.
        public func former(_ access: ReadAccess = ReadAccess(), _ links: FileLinks) async throws -> JSONObject? {
            guard let formerRow else { return nil }
            return try await object(formerRow, access, links)
        }

        /// The object as it is after the change; nil where it is gone.
        ///
        /// - Throws: 116 where it is nested deeper than values are.
        public func current(_ links: FileLinks) async throws -> JSONObject? {
            guard let currentRow else { return nil }
            return try await object(currentRow, ReadAccess(), links)
        }

        private func object(_ row: Int, _ access: ReadAccess, _ links: FileLinks) async throws -> JSONObject {
            let hidden =
                access.ownerRules.isEmpty
                ? access.hidden : Fetched(result: result, plan: plan, access: access).hidden(row)
            var object = try await HeavyWork.makeValues(of: size) {
                try Self.object(result, row, plan, access, links, omitting: [])
            }
            for name in hidden { object[name] = nil }
            return object
        }

        /// The fields of a row that are named, as values.
        static func fields(
            _ names: Set<Name>, of result: PostgresResult, _ row: Int, _ plan: ReadPlan, _ links: FileLinks
        ) async throws -> JSONObject {
            let others = Set(plan.columns.lazy.map { Name($0.name) }).subtracting(names)
            return try await HeavyWork.makeValues(of: result.size) {
                try object(result, row, plan, ReadAccess(), links, omitting: others)
            }
        }

        private static func object(
            _ result: PostgresResult, _ row: Int, _ plan: ReadPlan, _ access: ReadAccess, _ links: FileLinks,
            omitting: Set<Name>
        ) throws -> JSONObject {
            var writer = JSONWriter(capacity: 512)
            RowWriter(links: links, included: IncludedObjects(), loginData: access.loginData)
                .write(result, row, plan, node: nil, omitting: omitting, into: &writer)
            do {
                return try JSONValue(parsing: writer.bytes).objectValue ?? [:]
            } catch {
                throw AnswerSize.tooDeep
            }
        }
    }

    /// Makes the sequence of the numbers of changes, if there is none.
    ///
    /// - Throws: `PostgresError`, as where the role of the server may not make it.
    public func prepareChangeNumbers() async throws {
        let isThere = try await client.query("SELECT to_regclass('\"_roost_change\"') IS NOT NULL").bool(0, 0)
        if isThere != true {
            // The table is there for its default alone: Citus gives a sequence that a table uses to all its servers.
            try await ProcessLock.schemaChange.make(
                """
                CREATE SEQUENCE IF NOT EXISTS "_roost_change";
                CREATE TABLE IF NOT EXISTS "_roost_change_number" (
                    "number" bigint DEFAULT nextval('"_roost_change"'));
                """, client)
        }
        if catalog.distribution?.isBySchema == false {
            try await ProcessLock.schemaChange.make("\(Distribution.sharingNumbers);", client)
        }
        // Whether it may be used.
        _ = try await client.query("SELECT nextval('\"_roost_change\"')")
    }
}
