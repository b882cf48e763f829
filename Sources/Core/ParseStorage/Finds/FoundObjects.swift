public import JSON
public import Limits
import ParseModel
import Postgres

extension ObjectStore {
    /// The result of a find: rows that are not yet converted to JSON.
    public struct Found: Sendable {
        let result: PostgresResult?
        let plan: ReadPlan?
        var access = ReadAccess()
        var included = IncludedObjects()
        var include: IncludeNode?
        let links: FileLinks
        var unwritten: Set<Name> = []
        var sizeLimit = Int.max
        /// The number of all matching objects, if the find requested it.
        public internal(set) var count: Int?

        public var rowCount: Int { result?.rowCount ?? 0 }

        /// The approximate size of the rows in bytes without included objects, or 0 for a small result.
        private var size: Int { cost.isSlow ? result?.size ?? 0 : 0 }

        /// The estimated size of the JSON in bytes. A writer with this capacity usually needn't grow, which would
        /// triple its memory.
        public var writtenSize: Int { max(1024, size + size / 16 + included.size) }

        /// The size of all rows, including included objects, and whether writing them is slow.
        public var cost: Cost {
            let size = result?.size ?? 0
            let isSlow = Cost.writing(max(size, included.size)).isSlow || included.positions > 1_000
            return Cost(bytes: size + included.size, isSlow: isSlow)
        }

        /// Releases the memory reserved for the rows, for which other queries may be waiting. Call it once the rows are
        /// converted.
        public func release() { result?.release() }

        /// Writes one object, with additional members at its end (each as `"key":value`).
        ///
        /// - Throws: 116 if the response is too large.
        public func write(_ row: Int, extra: [[UInt8]] = [], into writer: inout JSONWriter) throws(ParseError) {
            guard let result, let plan else { return }
            rowWriter.write(
                result, row, plan, node: include, omitting: omitted(row), extra: extra, into: &writer)
            try AnswerSize.check(writer.count, sizeLimit)
        }

        /// Writes all objects, separated by commas.
        ///
        /// - Parameter extra: Returns the additional members of a row (each as `"key":value`).
        /// - Throws: 116 if the response is too large.
        public func writeAll(extra: (Int) -> [[UInt8]] = { _ in [] }, into writer: inout JSONWriter) throws(ParseError)
        {
            guard let result, let plan else { return }
            let rows = rowWriter
            for row in 0..<result.rowCount {
                if row > 0 { writer.byte(UInt8(ascii: ",")) }
                rows.write(
                    result, row, plan, node: include, omitting: omitted(row), extra: extra(row), into: &writer)
                try AnswerSize.check(writer.count, sizeLimit)
            }
        }

        private var rowWriter: RowWriter {
            RowWriter(links: links, included: included, sizeLimit: sizeLimit, loginData: access.loginData)
        }

        /// Returns the fields of an object to leave out. Empty without owner rules, because hidden fields aren't read.
        private func omitted(_ row: Int) -> Set<Name> {
            guard !access.ownerRules.isEmpty, let result, let plan else { return [] }
            return Fetched(result: result, plan: plan, access: access).hidden(row).union(unwritten)
        }

        /// Returns one object.
        ///
        /// - Parameter extra: Additional members, each as `"key":value`.
        /// - Throws: 116 if the object is too large or too deeply nested. It is never truncated, since code may base
        ///   decisions on it.
        public func object(_ row: Int, extra: [[UInt8]] = []) throws(ParseError) -> JSONObject {
            var writer = JSONWriter(capacity: max(512, size / max(1, rowCount)))
            try write(row, extra: extra, into: &writer)
            do {
                return try JSONValue(parsing: writer.finish()).objectValue ?? [:]
            } catch {
                throw AnswerSize.tooDeep
            }
        }

        /// All objects. A large result is converted outside the event loop.
        ///
        /// - Throws: 116 if an object is too large or too deeply nested.
        public var objects: [JSONObject] {
            get async throws {
                try await HeavyWork.makeValues(of: cost.bytes) { try (0..<rowCount).map { try object($0) } }
            }
        }

        /// The transformation of login data, or nil to write it as stored.
        public var loginDataView: (@Sendable (JSONObject) -> JSONObject)? {
            get { access.loginData }
            set { access.loginData = newValue }
        }

        /// The stored login data of all users, including included ones, that the caller may see.
        public var loginData: [(id: String, data: JSONObject)] {
            guard let result, let plan else { return [] }
            let rows = plan.hasLoginData ? 0..<result.rowCount : 0..<0
            let own = rows.compactMap { row in plan.loginData(result, row, omitting: omitted(row)) }
            return own + included.loginData
        }

        public func objectId(_ row: Int) -> String? {
            guard let result, let index = plan?.index(of: "objectId") else { return nil }
            return result.string(row, index)
        }
    }

    /// Rows of one class and the plan to read them.
    struct Fetched {
        let result: PostgresResult
        let plan: ReadPlan
        let access: ReadAccess

        func hidden(_ row: Int) -> Set<Name> {
            guard !access.ownerRules.isEmpty else { return [] }
            var hidden = access.hidden
            for rule in access.ownerRules where applies(rule, row) { hidden.formIntersection(rule.hidden) }
            return hidden
        }

        private func applies(_ rule: ReadAccess.OwnerRule, _ row: Int) -> Bool {
            guard let index = plan.index(of: rule.field ?? "objectId"), !result.isNull(row, index) else { return false }
            switch plan.columns[index].encoding {
            case .pointer, .text: return rule.userId.hasSameBytes(as: result.string(row, index))
            case .json:
                guard let json = result.json(row, index) else { return false }
                return (json.arrayValue ?? [json]).contains {
                    rule.userId.hasSameBytes(as: Pointer(json: $0)?.objectId)
                }
            default: return false
            }
        }
    }
}
