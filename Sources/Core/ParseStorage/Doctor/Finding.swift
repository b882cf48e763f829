/// Something about a database that its owner may want to know.
public struct Finding: Sendable, Equatable {
    /// What it is about; scripts know findings by it.
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
        case unusedIndex = "unused-index"
        case invalidIndex = "invalid-index"
        case skew
        case setting = "setting"
        case startChange = "start-change"
        case notLookedAt = "not-looked-at"
    }

    /// How much it matters.
    public enum Severity: String, Sendable, Comparable {
        /// Good to know.
        case note
        /// Something is slow, or waste.
        case warning
        /// Requests fail, or data are in danger.
        case error

        private var rank: Int {
            switch self {
            case .note: 0
            case .warning: 1
            case .error: 2
            }
        }

        /// The less it matters, the smaller it is.
        public static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }
    }

    /// Statements that put it right, and can do no harm.
    public struct Remedy: Sendable, Equatable {
        /// What they do, in words for the operator, who is asked whether they may.
        public let words: String
        /// The statements; each stands for itself.
        public let statements: [String]
    }

    /// The kind of problem.
    public let kind: Kind
    /// How much it matters.
    public let severity: Severity
    /// The class, `class.field`, table or setting.
    public let subject: String
    /// The problem, in words.
    public let words: String
    /// Some of the objects that it concerns.
    public var examples: [String] = []
    /// What puts it right without harm; nil when the operator must decide.
    public var remedy: Remedy?
    /// A statement that helps, which the operator should read before running it.
    public var advice: String?

    init(
        _ kind: Kind, _ severity: Severity, _ subject: String, _ words: String, examples: [String] = [],
        remedy: Remedy? = nil, advice: String? = nil
    ) {
        self.kind = kind
        self.severity = severity
        self.subject = subject
        self.words = words
        self.examples = examples
        self.remedy = remedy
        self.advice = advice
    }
}
