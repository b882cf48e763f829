import Logging

/// Several fields of a log line in one metadata value.
///
/// A line for each request is made on an event loop. Its fields become text where the line is written or read, not there.
public protocol LogFields: CustomStringConvertible, Sendable {
    /// The fields, by name.
    var fields: [(name: String, value: String)] { get }
}

extension LogFields {
    /// The fields as `name=value`, with spaces between them.
    public var description: String { fields.map { "\($0.name)=\($0.value)" }.joined(separator: " ") }
}

extension Logger.MetadataValue {
    /// A value that stands for several fields.
    public static func fields(_ fields: some LogFields) -> Logger.MetadataValue { .stringConvertible(fields) }
}

extension Logger.Metadata {
    /// All fields as texts, sorted by name. A value that stands for several is replaced by them.
    public var sortedFields: [(name: String, value: String)] {
        var all: [(name: String, value: String)] = []
        all.reserveCapacity(count + 4)
        for (name, value) in self {
            if case .stringConvertible(let convertible) = value, let several = convertible as? any LogFields {
                all += several.fields
            } else {
                all.append((name, value.description))
            }
        }
        return all.sorted { $0.name < $1.name }
    }
}
