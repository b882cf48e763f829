import Encoding

/// A problem in a database, or a fact worth knowing.
public struct Finding: Sendable, Equatable {
    /// The kind of finding. Scripts rely on the raw values.
    public enum Kind: String, Sendable, CaseIterable {
        case missingTable = "missing-table"
        case missingColumn = "missing-column"
        case columnType = "column-type"
        case unknownColumn = "unknown-column"
        case unknownType = "unknown-type"
        case missingRelation = "missing-relation"
        case orphanedRelationRows = "orphaned-relation-rows"
        case danglingPointers = "dangling-pointers"
        case sameInAnyCase = "same-in-any-case"
        case literalOperations = "literal-operations"
        case oddHashes = "odd-hashes"
        case growingClass = "growing-class"
        case unownedTable = "unowned-table"
        case slowQuery = "slow-query"
        case missingIndex = "missing-index"
        case invalidIndex = "invalid-index"
        case skew
        case setting = "setting"
        case startChange = "start-change"
        case notLookedAt = "not-looked-at"
    }

    public enum Severity: String, Sendable, Comparable {
        /// For information only.
        case note
        /// Something is slow, inconsistent or a waste of space.
        case warning
        /// Requests fail, or data is at risk.
        case error

        private var rank: Int { self == .error ? 2 : self == .warning ? 1 : 0 }

        public static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }
    }

    /// Statements that fix the problem without risk.
    public struct Remedy: Sendable, Equatable {
        /// A description for the operator, who is asked to confirm.
        public let words: String
        /// The statements, which run one by one, each outside a transaction block.
        public let statements: [String]
    }

    public let kind: Kind
    public let severity: Severity
    /// The class, field (`class.field`), table or setting concerned.
    public let subject: String
    /// A description of the problem.
    public internal(set) var words: String
    /// Some of the affected objects or values.
    public var examples: [String] = []
    /// The safe fix, or nil if the operator must decide.
    public var remedy: Remedy?
    /// A statement that helps, which the operator should read before running it.
    public var advice: String?

    /// An id that stays the same if the finding is reported again.
    package var id: String {
        let text = [kind.rawValue, subject] + (remedy?.statements ?? [])
        return String(StableHash.of(text.joined(separator: "\n")), radix: 36)
    }

    init(
        _ kind: Kind, _ severity: Severity, _ subject: String, _ words: String,
        remedy: Remedy? = nil, advice: String? = nil
    ) {
        self.kind = kind
        self.severity = severity
        self.subject = subject
        self.words = words
        self.remedy = remedy
        self.advice = advice
    }
}
