public import JSON
import Limits
import ParseModel
import Postgres

extension ObjectStore {
    /// The details of a changed object that the caller of a write requests.
    public struct ChangeWants: OptionSet, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The object before the change.
        public static let former = ChangeWants(rawValue: 1)
        /// The object after the change.
        public static let current = ChangeWants(rawValue: 2)
        /// The sequence number of the change.
        public static let number = ChangeWants(rawValue: 4)
    }

    /// An object before and after one statement. No other statement changed it in between.
    public struct ChangedObject: Sendable {
        public let className: String
        public let objectId: String
        /// The sequence number of the change, or nil if it wasn't requested. It is assigned while the row is locked, so
        /// a later change of the same object has a greater number.
        public let number: Int64?
        /// Whether the object after the change was fully read. Always true for deleted objects.
        public let isWhole: Bool
        let result: PostgresResult
        let plan: ReadPlan
        let formerRow: Int?
        let currentRow: Int?

        /// The approximate size of the rows in bytes.
        public var size: Int { result.size / max(1, result.rowCount) * (formerRow == nil || currentRow == nil ? 1 : 2) }

        /// Returns the object before the change, or nil if it is new.
        ///
        /// - Parameters:
        ///   - access: The caller's access, of which only the hidden fields, the owner rules and `loginData` apply.
        ///   - links: The URLs to write for files.
        /// - Throws: 116 if the object is nested too deeply.
        public func former(_ access: ReadAccess = ReadAccess(), _ links: FileLinks) async throws -> JSONObject? {
            guard let formerRow else { return nil }
            return try await object(formerRow, access, links)
        }

        /// Returns the object after the change, or nil if it was deleted.
        ///
        /// - Throws: 116 if the object is nested too deeply.
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

        /// Returns the named fields of a row.
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

    /// Creates the sequence of change numbers if it is missing, and shares it in a Citus cluster distributed by row.
    ///
    /// - Throws: `PostgresError`, for example if the server's role isn't allowed to create or use it.
    public func prepareChangeNumbers() async throws {
        if try await !client.hasTable("_roost_change") {
            // The table exists only for its default: Citus shares a sequence with all servers if a table uses it.
            try await ProcessLock.schemaChange.make(
                """
                CREATE SEQUENCE IF NOT EXISTS "_roost_change";
                CREATE TABLE IF NOT EXISTS "_roost_change_number" (
                    "number" bigint DEFAULT nextval('"_roost_change"'));
                """, client)
        }
        try await catalog.shareChangeNumbers()
        // Checks that the role may use the sequence.
        _ = try await client.query("SELECT nextval('\"_roost_change\"')")
    }
}
