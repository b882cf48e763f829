/// How far the import of one class from one source is, as the target keeps it.
public struct ImportRecord: Sendable {
    /// What becomes of the rows that the class has already.
    public enum Mode: String, Sendable {
        /// There are none.
        case fill
        /// They stay; of two of one id, the one that was changed last counts.
        case merge
        /// They go when the new ones are there.
        case replace
    }

    /// What was done.
    public enum State: String, Sendable {
        /// Rows are being loaded into a table beside the class's.
        case loading
        /// All rows are there, and the class does not show them yet.
        case loaded
        /// The class has them.
        case done
    }

    /// What distinguishes it from all others.
    public let number: Int64
    /// The class or `_Join:field:Class`.
    public let name: String
    public let mode: Mode
    public internal(set) var state: State
    /// How many objects of the source are dealt with.
    public internal(set) var documents: Int64
    /// How many rows came of them.
    public internal(set) var rows: Int64
    /// How often something could not be kept exactly.
    public internal(set) var rejects: Int64

    /// The table that is filled before the class is changed.
    var staging: String { "roost-import:\(number)" }
}
