import JSON
public import ParseModel

/// The time of a push.
public enum PushTime: Sendable, Equatable {
    /// At one moment.
    case moment(ParseDate)
    /// When it is that time where a device is: the time as if it were one of UTC.
    case local(ParseDate)

    /// Reads a time: ISO 8601, which is of each device's own time zone when it names none, or seconds since 1970.
    public init?(json: JSONValue) {
        switch json {
        case .number(let seconds):
            guard seconds.magnitude < 1e11 else { return nil }
            self = .moment(ParseDate(milliseconds: Int64((seconds * 1000).rounded())))
        case .string(let text):
            guard let date = ParseDate(iso: text) else { return nil }
            self = Self.hasZone(text) ? .moment(date) : .local(date)
        default: return nil
        }
    }

    private static func hasZone(_ text: String) -> Bool {
        guard let time = text.utf8.firstIndex(where: { $0 | 0x20 == UInt8(ascii: "t") || $0 == UInt8(ascii: " ") })
        else { return false }
        return text.utf8[time...].contains { [UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "Z")].contains($0) }
    }

    /// The text that rows show.
    public var text: String {
        switch self {
        case .moment(let date): date.iso
        case .local(let date): String(date.iso.dropLast())
        }
    }

    /// When the first device may be sent to: where clocks are ahead of all others.
    public var first: ParseDate {
        switch self {
        case .moment(let date): date
        case .local(let date): ParseDate(milliseconds: date.milliseconds - 14 * 3_600_000)
        }
    }

    /// When the last device is sent to: where clocks are behind all others.
    public var last: ParseDate {
        switch self {
        case .moment(let date): date
        case .local(let date): ParseDate(milliseconds: date.milliseconds + 12 * 3_600_000)
        }
    }

    /// Whether it is a time of each device's own.
    public var isLocal: Bool { if case .local = self { true } else { false } }
}
