import JSON
import ParseModel
import Postgres

/// How large an object may become by what clients write.
enum ObjectSize {
    /// The refusal of an object that would be larger.
    static func tooLarge(_ limit: Int) -> ParseError {
        ParseError(ParseError.objectTooLarge, "The object is too large. The limit is \(limit) bytes.")
    }

    /// Refuses to write values that are too large by themselves.
    ///
    /// - Parameters:
    ///   - values: What the parameters were made of.
    /// - Throws: 116.
    static func check<Values: Sequence<JSONValue>>(
        _ values: Values, _ parameters: [PostgresParameter], _ limit: Int?
    ) throws(ParseError) {
        guard let limit else { return }
        let size = size(of: parameters)
        guard size <= limit else { throw tooLarge(limit) }
        guard size > limit / digits else { return }
        guard values.reduce(size, { $0 + spelledOut($1) }) <= limit else { throw tooLarge(limit) }
    }

    /// Additional bytes of a value, since PostgreSQL writes out numbers that came with an exponent.
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

    /// Upper bound of the digits of a number.
    private static let digits = 330

    /// What ends a statement that makes a row too large, as something that it returns; nil where it need not be weighed.
    ///
    /// Small values in place of others are not weighed: there are not more of them than fields.
    static func bound(on table: String, _ write: ObjectWrite, _ parameters: [PostgresParameter]) -> String? {
        guard let limit = write.sizeLimit else { return nil }
        let grows = write.operations.contains { key, operation in
            switch operation {
            case .add, .addUnique: true
            case .set: !FieldPath(key).steps.isEmpty
            default: false
            }
        }
        guard grows || size(of: parameters) > smallSize else { return nil }
        // PostgreSQL has no value of more bytes than an integer counts. Named as no field of a class can be.
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
