import Encoding

/// A statement whose parameters are encoded in PostgreSQL's binary format, in one buffer.
///
/// Callers encode their statements, so that the I/O thread only has to send them.
package struct EncodedStatement: Sendable {
    /// The position of a parameter in the buffer, and its type.
    package struct Slot: Sendable {
        let type: UInt32
        /// The offset of the value in the buffer, or -1 for NULL.
        let offset: Int32
        let length: Int32
    }

    package let key: StatementKey
    private(set) var bytes: [UInt8] = []

    var sql: String { key.sql }
    var slots: [Slot] { key.slots }

    /// SQL texts and arrays above this size in bytes get their own plan.
    private static let longSize = 16 * 1024

    /// Whether to plan the statement for its parameter values instead of preparing it. Long texts rarely repeat, and a
    /// plan made without knowing a long list compares each of its values with each row.
    var isOneOff: Bool {
        if sql.utf8.count > Self.longSize { return true }
        return bytes.count > Self.longSize
            && slots.contains { $0.length > Self.longSize && PostgresType(rawValue: $0.type)?.isArray == true }
    }

    /// The server closes the connection on messages above 1 GB.
    private static let sizeLimit = 1_000_000_000

    /// Encodes a statement.
    ///
    /// - Throws: `PostgresError` 42601 for NUL in the SQL, 54023 for more than 65,535 parameters, 54000 for parameters
    ///   of 1 GB or more.
    package init(_ statement: Statement) throws {
        let parameters = statement.parameters
        guard parameters.count <= UInt16.max else {
            throw PostgresError(.server, "a statement can have at most 65535 parameters", sqlState: "54023")
        }
        let bytesOfText = statement.sql.utf8
        guard bytesOfText.withContiguousStorageIfAvailable({ !$0.contains(0) }) ?? !bytesOfText.contains(0) else {
            throw PostgresError(.server, "a statement can't contain NUL", sqlState: "42601")
        }
        var slots: [Slot] = []
        slots.reserveCapacity(parameters.count)
        for parameter in parameters {
            let type = parameter.type.rawValue
            if case .null = parameter {
                slots.append(Slot(type: type, offset: -1, length: 0))
                continue
            }
            let start = bytes.count
            ParameterEncoding.append(parameter, to: &bytes)
            guard bytes.count < Self.sizeLimit else {
                throw PostgresError(.server, "a statement must be smaller than 1 GB", sqlState: "54000")
            }
            slots.append(Slot(type: type, offset: Int32(start), length: Int32(bytes.count - start)))
        }
        // An empty value at the end still needs an address, which distinguishes it from NULL.
        bytes.append(0)
        key = StatementKey(sql: statement.sql, slots: slots)
    }

    init(constant sql: StaticString) {
        key = StatementKey(sql: "\(sql)", slots: [])
        bytes = [0]
    }
}

/// The text of a statement and the types of its parameters, to look up prepared statements.
package struct StatementKey: Hashable, Sendable {
    let sql: String
    let slots: [EncodedStatement.Slot]
    /// The hash, computed only once, on the caller's thread.
    private let hash: Int

    package init(sql: String, slots: [EncodedStatement.Slot]) {
        self.sql = sql
        self.slots = slots
        var hasher = Hasher()
        hasher.combine(sql)
        for slot in slots { hasher.combine(slot.type) }
        hash = hasher.finalize()
    }

    /// Compares bytes, because `String` treats canonically equivalent identifiers as equal.
    package static func == (one: StatementKey, other: StatementKey) -> Bool {
        one.hash == other.hash && one.slots.count == other.slots.count
            && zip(one.slots, other.slots).allSatisfy { $0.type == $1.type } && ByteEquality.areSame(one.sql, other.sql)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
