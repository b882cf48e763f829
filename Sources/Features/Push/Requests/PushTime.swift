import JSON
import ParseModel

enum PushTime: Sendable, Equatable {
    /// The same moment for all devices.
    case moment(ParseDate)
    /// A local time on each device, stored as if it were UTC.
    case local(ParseDate)

    /// Reads an ISO 8601 time, which is local to each device if it has no time zone, or seconds since 1970.
    init?(json: JSONValue) {
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

    /// The time as shown in `_PushStatus`. Local times have no `Z`.
    var text: String {
        switch self {
        case .moment(let date): date.iso
        case .local(let date): String(date.iso.dropLast())
        }
    }

    /// The earliest moment: a local time in the time zone furthest ahead (UTC+14).
    var first: ParseDate { shifted(byHours: -14) }

    /// The latest moment: a local time in the time zone furthest behind (UTC−12).
    var last: ParseDate { shifted(byHours: 12) }

    private func shifted(byHours hours: Int64) -> ParseDate {
        switch self {
        case .moment(let date): date
        case .local(let date): ParseDate(milliseconds: date.milliseconds + hours * 3_600_000)
        }
    }

    var isLocal: Bool { if case .local = self { true } else { false } }
}
