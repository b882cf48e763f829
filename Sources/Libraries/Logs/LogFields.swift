public import JSON
public import Logging

/// Several fields of a log line in one metadata value.
///
/// Request lines are logged on event loops, so their fields are formatted only when the line is written. It is a class
/// so that its type can be checked quickly.
public final class LogFields: CustomStringConvertible, Sendable {
    private let make: @Sendable () -> [(name: String, value: String)]

    /// - Parameter make: Returns the fields, sorted by name.
    public init(_ make: @escaping @Sendable () -> [(name: String, value: String)]) { self.make = make }

    /// The fields, sorted by name.
    public var fields: [(name: String, value: String)] { make() }

    /// Fields written as JSON numbers if they are numeric, so that programs can add them up.
    private static let numbers: Set<String> = [
        "bytes", "changes", "code", "cost", "count", "failed", "highest", "limit", "ms", "omitted", "rows", "sent",
        "status", "underWay", "waiting", "workers",
    ]

    public static func json(_ name: String, _ value: String) -> JSONValue {
        if name == "aborted" { return .bool(value == "true") }
        guard numbers.contains(name), let number = Double(value), number.isFinite else { return .string(value) }
        return .number(number)
    }

    /// The fields as `name=value`, separated by spaces.
    public var description: String { fields.map { "\($0.name)=\($0.value)" }.joined(separator: " ") }
}

extension Logger.MetadataValue {
    /// Creates a value that contains several fields.
    ///
    /// - Parameter make: Returns the fields, sorted by name.
    public static func fields(
        _ make: @escaping @Sendable () -> [(name: String, value: String)]
    ) -> Logger.MetadataValue { .stringConvertible(LogFields(make)) }

    /// The contained fields, or nil if the value is a single field.
    public var fields: [(name: String, value: String)]? {
        guard case .stringConvertible(let convertible) = self else { return nil }
        return (convertible as? LogFields)?.fields
    }

    /// Whether the value contains several fields.
    public var isFields: Bool {
        if case .stringConvertible(let convertible) = self { convertible is LogFields } else { false }
    }
}

extension Logger.Level {
    /// parse-server's name of the level.
    public var parseName: String {
        switch self {
        case .trace: "silly"
        case .debug: "debug"
        case .info, .notice: "info"
        case .warning: "warn"
        case .error, .critical: "error"
        }
    }

    /// Creates the level with parse-server's name. Returns nil for `silent` and unknown names.
    public init?(parseName: String) {
        switch parseName {
        case "error": self = .error
        case "warn": self = .warning
        case "info": self = .info
        case "verbose", "debug": self = .debug
        case "silly": self = .trace
        default: return nil
        }
    }
}

extension Logger {
    /// Logs an event with a level named as in parse-server. Does nothing for `silent` and unknown names.
    ///
    /// - Parameter metadata: The fields of the line. Only evaluated if the line is written.
    public func event(_ level: String, _ message: Logger.Message, metadata: @autoclosure () -> Logger.Metadata) {
        guard let level = Level(parseName: level) else { return }
        log(level: level, message, metadata: metadata())
    }
}

extension Logger.Metadata {
    /// All fields as strings, sorted by name, with combined values expanded.
    public var sortedFields: [(name: String, value: String)] {
        if count == 1, let fields = first?.value.fields { return fields }
        var all: [(name: String, value: String)] = []
        all.reserveCapacity(count + 4)
        for (name, value) in self {
            if let several = value.fields { all += several } else { all.append((name, value.description)) }
        }
        return all.sorted { $0.name < $1.name }
    }
}
