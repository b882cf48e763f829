/// Something that was done for a trace, from its begin to its end.
package struct SpanRecord: Sendable {
    var traceID: TraceContext.TraceID
    var id: UInt64
    /// The span that it is part of; nil for the first of a trace.
    var parent: UInt64?
    var state: String?
    var name: String
    var kind: SpanSide
    /// In nanoseconds since 1970.
    var start: UInt64
    var end: UInt64
    var attributes: [SpanField]
    var isFailed = false
    /// The span of another trace that it follows from.
    var link: TraceContext?
    /// How many spans below it were left out.
    package var dropped = 0

    package init(
        traceID: TraceContext.TraceID, id: UInt64, parent: UInt64? = nil, state: String? = nil, name: String,
        kind: SpanSide, start: UInt64, end: UInt64, attributes: [SpanField], isFailed: Bool = false,
        link: TraceContext? = nil, dropped: Int = 0
    ) {
        self.traceID = traceID
        self.id = id
        self.parent = parent
        self.state = state
        self.name = name
        self.kind = kind
        self.start = start
        self.end = end
        self.attributes = attributes
        self.isFailed = isFailed
        self.link = link
        self.dropped = dropped
    }

    /// The bytes that it takes, roughly.
    var size: Int { attributes.reduce(128 + name.utf8.count) { $0 + $1.size } }
}

/// On which side of a call a span is.
public enum SpanSide: Int, Sendable {
    case inside = 1
    case server = 2
    case client = 3
}

/// A name with a value, by OpenTelemetry's conventions.
public struct SpanField: Sendable {
    enum Value: Sendable {
        case text(String)
        case number(Int)
    }

    let name: String
    let value: Value

    fileprivate var size: Int {
        let bytes = if case .text(let text) = value { text.utf8.count } else { 8 }
        return 32 + name.utf8.count + bytes
    }

    /// A text, of a thousand bytes at most.
    public static func text(_ name: String, _ value: String) -> SpanField {
        let isLong = value.utf8.count > 1024
        return SpanField(
            name: name, value: .text(isLong ? String(decoding: value.utf8.prefix(1024), as: UTF8.self) : value))
    }

    /// A whole number.
    public static func number(_ name: String, _ value: Int) -> SpanField {
        SpanField(name: name, value: .number(value))
    }
}
