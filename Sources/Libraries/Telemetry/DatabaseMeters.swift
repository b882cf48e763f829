/// Durations of database operations, including the time in queues.
public final class DatabaseMeters: Sendable {
    public enum Operation: Int, Label {
        case find, get, count, aggregate, create, update, delete, batch, session
    }

    private let durations = Operation.allCases.map { _ in NumberedHistograms(.database) }

    /// Counts an operation.
    ///
    /// - Parameter errorClass: The SQLSTATE of an unexpected failure, any other text for a failure without one, or nil if
    ///   the operation succeeded or failed as expected.
    public func add(_ operation: Operation, _ duration: Duration, errorClass: String? = nil) {
        durations[operation.rawValue].record(duration, of: Self.number(of: errorClass))
    }

    /// Returns the durations of an operation by error class. The key 0 means success or an expected error.
    func counts(of operation: Operation) -> [Int: Histogram.Counts] { durations[operation.rawValue].counts }

    func write(to text: inout Exposition) {
        text.begin("db_client_operation_duration_seconds", .histogram, "Database call duration.")
        for operation in Operation.allCases {
            for (number, counts) in durations[operation.rawValue].counts.sorted(by: { $0.key < $1.key }) {
                if number == 0 {
                    text.add(["db_operation_name": operation.text], counts, .database)
                } else {
                    let error = Self.errorClass(of: number)
                    text.add(["db_operation_name": operation.text, "error_type": error], counts, .database)
                }
            }
        }
    }

    private static let other = "_OTHER"

    private static func number(of errorClass: String?) -> Int {
        guard let errorClass else { return 0 }
        let bytes = Array(errorClass.utf8.prefix(2))
        func isKnown(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
        }
        guard bytes.count == 2, bytes.allSatisfy(isKnown) else { return 1 }
        return Int(bytes[0]) << 8 | Int(bytes[1])
    }

    private static func errorClass(of number: Int) -> String {
        guard number > 1 else { return other }
        return String(decoding: [UInt8(number >> 8), UInt8(number & 255)], as: UTF8.self)
    }
}
