import Encoding
import JSON
import Logging
import ParseModel
import ParseStorage
import Postgres
import Synchronization
import Telemetry

/// Records slow database operations: log lines, limited per second, and statistics per statement shape.
package final class SlowOperationLog: Sendable {
    /// Statistics of operations with the same statement, regardless of its values.
    package struct Shape: Sendable {
        var operation: DatabaseMeters.Operation
        package var className: String
        package var statement: String
        package var count = 0
        package var longest = Duration.zero
        package var total = Duration.zero
    }

    private struct State {
        var shapes: [String: Shape] = [:]
        var second = ContinuousClock.now
        var linesInSecond = 0
        var unsaid = 0
    }

    /// The duration from which an operation is slow, or nil if recording is off.
    package let threshold: Duration?
    private let state = Mutex(State())
    private static let maxShapes = 200
    private static let maxLines = 10
    private static let longestStatement = 4000

    /// - Parameter milliseconds: The threshold, or 0 to turn recording off.
    init(milliseconds: Int) { threshold = milliseconds == 0 ? nil : .milliseconds(milliseconds) }

    /// The shapes in descending order of their longest duration.
    package var shapes: [(hash: String, shape: Shape)] {
        state.withLock { $0.shapes }.map { (hash: $0.key, shape: $0.value) }.sorted {
            $0.shape.longest > $1.shape.longest
        }
    }

    /// Records a slow operation.
    ///
    /// - Returns: The fields of its log line, or nil if this second's log lines are used up.
    func record(
        _ operation: DatabaseMeters.Operation, _ className: String, statement: String?, took duration: Duration
    ) -> Logger.Metadata? {
        let statement = statement.map { String($0.prefix(Self.longestStatement)) } ?? ""
        let hash = Self.hash(of: statement.isEmpty ? "\(operation) \(className)" : statement)
        let unsaid: Int? = state.withLock { state in
            var shape = state.shapes[hash] ?? Shape(operation: operation, className: className, statement: statement)
            shape.count += 1
            shape.longest = max(shape.longest, duration)
            shape.total += duration
            if state.shapes[hash] == nil, state.shapes.count >= Self.maxShapes,
                let fastest = state.shapes.min(by: { $0.value.longest < $1.value.longest })
            {
                state.shapes[fastest.key] = nil
            }
            state.shapes[hash] = shape
            let now = ContinuousClock.now
            if now - state.second >= .seconds(1) {
                state.second = now
                state.linesInSecond = 0
            }
            guard state.linesInSecond < Self.maxLines else {
                state.unsaid += 1
                return nil
            }
            state.linesInSecond += 1
            defer { state.unsaid = 0 }
            return state.unsaid
        }
        guard let unsaid else { return nil }
        var fields: Logger.Metadata = [
            "operation": "\(operation)", "ms": "\(duration.wholeNanoseconds / 1_000_000)", "hash": "\(hash)",
        ]
        if !className.isEmpty { fields["class"] = "\(className)" }
        if !statement.isEmpty { fields["statement"] = "\(statement)" }
        if unsaid > 0 { fields["omitted"] = "\(unsaid)" }
        return fields
    }

    private static func hash(of text: String) -> String {
        let digits = String(StableHash.of(text), radix: 16)
        return String(repeating: "0", count: max(0, 16 - digits.count)) + digits
    }
}

/// `GET /slow_queries`: the slowest database operations of this process, for administrators.
public struct SlowOperations: Sendable {
    let backend: Backend

    /// Returns the recorded shapes, slowest first. If the parameter `explain` is a shape's hash, returns that shape
    /// with its plan, or with PostgreSQL's error.
    ///
    /// - Throws: 101 if the hash is unknown or its shape has no statement.
    public func answer(_ parameters: JSONObject) async throws -> JSONObject {
        let shapes = backend.slowLog.shapes
        guard let wanted = parameters["explain"] else {
            return ["results": .array(shapes.map { .object(Self.described($0.hash, $0.shape)) })]
        }
        // A hash of digits alone is read as a number.
        guard
            case (let hash, let shape)? = shapes.first(where: {
                wanted == .string($0.hash) || wanted.numberValue == Double($0.hash) ?? .nan
            }), !shape.statement.isEmpty
        else { throw ParseError.notFound }
        var result = Self.described(hash, shape)
        do {
            result["plan"] = try await backend.store.aggregates.genericPlan(of: shape.statement)
        } catch let error as PostgresError {
            result["planError"] = .string(error.message)
        }
        return result
    }

    private static func described(_ hash: String, _ shape: SlowOperationLog.Shape) -> JSONObject {
        [
            "hash": .string(hash), "operation": .string("\(shape.operation)"), "class": .string(shape.className),
            "statement": .string(shape.statement), "count": .number(Double(shape.count)),
            "longestMs": .number(Double(shape.longest.wholeNanoseconds / 1_000_000)),
            "totalMs": .number(Double(shape.total.wholeNanoseconds / 1_000_000)),
        ]
    }
}
