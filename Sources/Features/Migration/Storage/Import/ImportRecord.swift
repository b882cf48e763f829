/// The stored progress of importing one class from one source.
public struct ImportRecord: Sendable {
    /// The treatment of rows that the class already has.
    public enum Mode: String, Sendable {
        /// The class must be empty.
        case fill
        /// Imported rows are added. If an object exists on both sides, the one with the later `updatedAt` wins.
        case merge
        /// The imported rows replace the existing ones.
        case replace
    }

    public enum State: String, Sendable {
        /// Rows are being loaded into the staging table.
        case loading
        /// All rows are in the staging table, but not yet in the class.
        case loaded
        /// The rows are in the class.
        case done
    }

    /// The unique number of the record.
    public let number: Int64
    /// The class name, or `_Join:field:Class` for a relation.
    public let name: String
    public let mode: Mode
    public internal(set) var state: State
    /// The number of source objects processed so far.
    public internal(set) var documents: Int64
    /// The number of rows loaded so far.
    public internal(set) var rows: Int64
    /// The number of reports of values, objects and indexes that couldn't be imported exactly.
    public internal(set) var rejects: Int64

    /// The table that rows are loaded into before they are published.
    var staging: String { "roost-import:\(number)" }
}
