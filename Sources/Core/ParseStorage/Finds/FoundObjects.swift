public import JSON
import ParseModel
import Postgres
import Tasks

extension ObjectStore {
    /// What a find gave: rows, not yet JSON.
    public struct Found: Sendable {
        let result: PostgresResult?
        let plan: ReadPlan?
        let access: ReadAccess
        let included: IncludedObjects
        let include: IncludeNode?
        let links: FileLinks
        let unwritten: Set<Name>
        var sizeLimit = Int.max
        /// The number of all matching objects, when it was asked for.
        public let count: Int?

        /// How many objects there are.
        public var rowCount: Int { result?.rowCount ?? 0 }

        /// About how many bytes the rows are, without what is included; zero for few.
        public var size: Int { isHeavy ? result?.size ?? 0 : 0 }

        /// The capacity with which a writer never grows, as far as that is known: one that does takes three times as much.
        public var writtenSize: Int { max(1024, size + size / 16 + included.size) }

        /// Whether writing takes so long that it must not happen on an event loop.
        public var isHeavy: Bool {
            (result?.size ?? 0) > HeavyWork.answerSize || included.positions > 1_000
                || included.size > HeavyWork.answerSize
        }

        /// The bytes that its values are made of: those of its rows, included ones among them.
        public var valueSize: Int { (result?.size ?? 0) + included.size }

        /// Lets others have the memory of the rows, when they were made values of: what is asked next may wait for it.
        public func release() { result?.release() }

        /// Writes one object, with members added at its end (each as `"key":value`).
        ///
        /// - Throws: 116 when the answer is too large.
        public func write(_ row: Int, extra: [[UInt8]] = [], into writer: inout JSONWriter) throws(ParseError) {
            guard let result, let plan else { return }
            let rows = RowWriter(
                links: links, included: included, sizeLimit: sizeLimit, loginData: access.loginData)
            write(row, of: result, plan, extra, rows, into: &writer)
            try AnswerSize.check(writer.count, sizeLimit)
        }

        /// Writes all objects, with commas between them.
        ///
        /// - Parameter extra: Gives the members to add to each row (each as `"key":value`).
        /// - Throws: 116 when the answer is too large.
        public func writeAll(extra: (Int) -> [[UInt8]] = { _ in [] }, into writer: inout JSONWriter) throws(ParseError)
        {
            guard let result, let plan else { return }
            let rows = RowWriter(
                links: links, included: included, sizeLimit: sizeLimit, loginData: access.loginData)
            for row in 0..<result.rowCount {
                if row > 0 { writer.byte(UInt8(ascii: ",")) }
                write(row, of: result, plan, extra(row), rows, into: &writer)
                try AnswerSize.check(writer.count, sizeLimit)
            }
        }

        private func write(
            _ row: Int, of result: PostgresResult, _ plan: ReadPlan, _ extra: [[UInt8]], _ rows: RowWriter,
            into writer: inout JSONWriter
        ) {
            rows.write(
                result, row, plan, node: include,
                omitting: access.ownerRules.isEmpty ? [] : hidden(row).union(unwritten), extra: extra, into: &writer)
        }

        /// One object as a value.
        ///
        /// - Parameter extra: Members besides, written as JSON.
        /// - Throws: 116 when the object is too large, or nested deeper than values are: code that decides by what
        ///   stands in it would decide by less.
        public func object(_ row: Int, extra: [[UInt8]] = []) throws(ParseError) -> JSONObject {
            var writer = JSONWriter(capacity: max(512, size / max(1, rowCount)))
            try write(row, extra: extra, into: &writer)
            do {
                return try JSONValue(parsing: writer.take()).objectValue ?? [:]
            } catch {
                throw AnswerSize.tooDeep
            }
        }

        /// All objects as values, made away from event loops where that takes long.
        ///
        /// - Throws: What ``object(_:extra:)`` throws for one of them.
        public var objects: [JSONObject] {
            get async throws {
                try await HeavyWork.makeValues(of: valueSize) { try (0..<rowCount).map { try object($0) } }
            }
        }

        /// The id in one row.
        public func objectId(_ row: Int) -> String? {
            guard let result, let index = plan?.index(of: "objectId") else { return nil }
            return result.string(row, index)
        }

        /// The fields hidden in one object, by the rules that look into it.
        func hidden(_ row: Int) -> Set<Name> {
            guard let result, let plan else { return [] }
            return Fetched(result: result, plan: plan, access: access).hidden(row)
        }
    }

    /// Rows of one class with the plan that reads them.
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
                guard let bytes = result.jsonb(row, index), let json = try? JSONValue(parsing: bytes) else {
                    return false
                }
                return (json.arrayValue ?? [json]).contains {
                    rule.userId.hasSameBytes(as: Pointer(json: $0)?.objectId)
                }
            default: return false
            }
        }
    }
}
