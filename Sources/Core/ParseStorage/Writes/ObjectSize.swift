import JSON
import ParseModel
import Postgres

/// Limits the size of objects that clients write.
enum ObjectSize {
    static func tooLarge(_ limit: Int) -> ParseError {
        ParseError(ParseError.objectTooLarge, "The object is too large. The limit is \(limit) bytes.")
    }

    /// Checks that the written values alone don't exceed the limit in bytes.
    ///
    /// - Parameter values: The JSON values among the parameters, whose numbers PostgreSQL may write at greater length.
    /// - Throws: 116 if they do.
    static func check<Values: Sequence<JSONValue>>(
        _ values: Values, _ parameters: [PostgresParameter], _ limit: Int?
    ) throws(ParseError) {
        guard let limit else { return }
        let size = size(of: parameters)
        guard size <= limit else { throw tooLarge(limit) }
        guard size > limit / digits else { return }
        guard values.reduce(size, { $0 + spelledOut($1) }) <= limit else { throw tooLarge(limit) }
    }

    /// Returns an upper limit for the bytes added when PostgreSQL writes out numbers that JSON writes with an exponent.
    private static func spelledOut(_ value: JSONValue) -> Int {
        switch value {
        case .number(let number):
            let size = abs(number)
            return size >= 1e21 || size > 0 && size < 1e-6 ? digits : 0
        case .array(let list): return list.reduce(0) { $0 + spelledOut($1) }
        case .object(let object): return object.reduce(0) { $0 + spelledOut($1.value) }
        case .null, .bool, .string: return 0
        }
    }

    /// An upper limit for the length of a number that PostgreSQL writes without an exponent.
    private static let digits = 330

    /// Returns an SQL expression for RETURNING that fails if the row exceeds the limit, or nil if no check is needed.
    ///
    /// Up to 1,024 bytes that replace whole fields aren't checked: an object has only as many such values as fields.
    static func bound(on table: String, _ write: ObjectWrite, _ parameters: [PostgresParameter]) -> String? {
        guard let limit = write.sizeLimit else { return nil }
        let grows = write.operations.contains { key, operation in
            switch operation {
            case .add, .addUnique: true
            case .set, .increment: !FieldPath(key).steps.isEmpty
            default: false
            }
        }
        guard grows || size(of: parameters) > smallSize else { return nil }
        // PostgreSQL values can't exceed Int32.max bytes. No field of a class can have the name `_bound`.
        return "roost_bound(\(table).*, \(min(limit, Int(Int32.max)))) AS _bound"
    }

    private static let smallSize = 1024

    private static func size(of parameters: [PostgresParameter]) -> Int {
        parameters.reduce(0) { sum, parameter in
            switch parameter {
            case .text(let text): sum + text.utf8.count
            case .jsonb(let bytes): sum + bytes.count
            case .textArray(let texts): texts.reduce(sum) { $0 + $1.utf8.count }
            case .polygon(let corners): sum + 16 * corners.count
            default: sum + 8
            }
        }
    }
}
