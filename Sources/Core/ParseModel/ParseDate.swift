import Encoding
import JSON

/// A point in time as Parse stores it: milliseconds since 1970-01-01T00:00:00Z.
///
/// The text always has three fractional digits and a `Z`. The JavaScript and Android SDKs read the digits after the dot
/// as milliseconds, and the Swift SDK rejects anything else.
public struct ParseDate: Hashable, Sendable, Comparable {
    /// Milliseconds since 1970, negative before.
    public var milliseconds: Int64

    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    public static func < (left: ParseDate, right: ParseDate) -> Bool { left.milliseconds < right.milliseconds }

    /// The date in UTC as `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    public var iso: String {
        var writer = JSONWriter(capacity: 32)
        write(into: &writer)
        return writer.text
    }

    /// The date as an object with `__type` and `iso`, the format of all date fields except `createdAt` and `updatedAt`.
    public var json: JSONValue { .object(["__type": "Date", "iso": .string(iso)]) }

    /// Appends the text without quotes: 24 bytes for the years 0 to 9999.
    public func write(into writer: inout JSONWriter) {
        // Rounds down without a subtraction, which would overflow for the smallest 64-bit value.
        let (whole, rest) = milliseconds.quotientAndRemainder(dividingBy: 86_400_000)
        let day = rest < 0 ? whole - 1 : whole
        let time = UInt64(rest < 0 ? rest + 86_400_000 : rest)
        let date = CivilDate(daysSince1970: Int(day))
        let year = UInt64(date.year.magnitude)
        if !(0...9999).contains(date.year) {
            // Writes ECMAScript's expanded year with six digits, the only other format that JavaScript reads.
            writer.byte(date.year < 0 ? UInt8(ascii: "-") : UInt8(ascii: "+"))
            writer.byte(UInt8(ascii: "0") + UInt8(year / 100_000 % 10))
            writer.byte(UInt8(ascii: "0") + UInt8(year / 10_000 % 10))
        }
        // Writes eight characters at a time, the first in the lowest byte.
        writer.word(
            Self.pair(year / 100 % 100) | Self.pair(year % 100) << 16 | Self.dash << 32
                | Self.pair(UInt64(date.month)) << 40 | Self.dash << 56)
        writer.word(
            Self.pair(UInt64(date.day)) | UInt64(UInt8(ascii: "T")) << 16 | Self.pair(time / 3_600_000) << 24
                | Self.colon << 40 | Self.pair(time / 60_000 % 60) << 48)
        writer.word(
            Self.colon | Self.pair(time / 1000 % 60) << 8 | UInt64(UInt8(ascii: ".")) << 24
                | (48 + time % 1000 / 100) << 32 | Self.pair(time % 100) << 40 | UInt64(UInt8(ascii: "Z")) << 56)
    }

    private static var dash: UInt64 { UInt64(UInt8(ascii: "-")) }
    private static var colon: UInt64 { UInt64(UInt8(ascii: ":")) }

    /// Returns two ASCII digits of a number below 100, the first in the low byte.
    private static func pair(_ value: UInt64) -> UInt64 { (48 + value / 10) | (48 + value % 10) << 8 }

    /// Parses `{"$date": …}` of MongoDB's extended JSON: an ISO 8601 date, or whole milliseconds since 1970 in the
    /// years 1 to 9999. Returns nil for anything else.
    public init?(extended object: JSONObject) {
        guard object.count == 1, let value = object["$date"] else { return nil }
        if let text = value.stringValue {
            self.init(iso: text)
            return
        }
        let number = value.objectValue?.count == 1 ? value["$numberLong"]?.stringValue.flatMap { Int64($0) } : nil
        guard let milliseconds = number ?? value.numberValue.flatMap({ Int64(exactly: $0) }),
            Self.writable.contains(milliseconds)
        else { return nil }
        self.init(milliseconds: milliseconds)
    }

    /// The years 1 to 9999, which JavaScript and PostgreSQL write with four digits.
    private static let writable: Range<Int64> = -62_135_596_800_000..<253_402_300_800_000

    /// Parses an ISO 8601 date, optionally with a time to the minute or finer and a time zone (UTC if missing).
    ///
    /// Digits beyond milliseconds are dropped. Returns nil for anything else and for impossible dates.
    public init?(iso text: String) {
        var reader = Reader(bytes: Array(text.utf8))
        guard let year = reader.year(), reader.skip("-"), let month = reader.number(2), (1...12).contains(month),
            reader.skip("-"), let day = reader.number(2), day >= 1, day <= CivilDate.days(inMonth: month, of: year)
        else { return nil }
        var milliseconds = Int64(CivilDate(year: year, month: month, day: day).daysSince1970) * 86_400_000
        if !reader.atEnd {
            guard reader.skip("T") || reader.skip(" ") || reader.skip("t"), let hour = reader.number(2), hour <= 24,
                reader.skip(":"), let minute = reader.number(2), minute < 60
            else { return nil }
            var second = 0
            var fraction = 0
            if reader.skip(":") {
                guard let value = reader.number(2), value <= 60 else { return nil }
                second = value
                if reader.skip(".") || reader.skip(",") {
                    guard let value = reader.fraction() else { return nil }
                    fraction = value
                }
            }
            guard let offset = reader.zone(), reader.atEnd, hour < 24 || (minute == 0 && second == 0) else {
                return nil
            }
            milliseconds += Int64(hour * 3_600_000 + minute * 60_000 + second * 1000 + fraction - offset * 60_000)
        }
        self.milliseconds = milliseconds
    }

    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        var atEnd: Bool { position == bytes.count }

        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        mutating func digit() -> Int? {
            guard position < bytes.count, (48...57).contains(bytes[position]) else { return nil }
            position += 1
            return Int(bytes[position - 1]) - 48
        }

        mutating func number(_ count: Int) -> Int? {
            var value = 0
            for _ in 0..<count {
                guard let digit = digit() else { return nil }
                value = value * 10 + digit
            }
            return value
        }

        mutating func year() -> Int? {
            if skip("+") { return number(6) }
            if skip("-") { return number(6).map { -$0 } }
            return number(4)
        }

        mutating func fraction() -> Int? {
            guard let first = digit() else { return nil }
            var (value, unit) = (first * 100, 10)
            while let next = digit() {
                value += next * unit
                unit /= 10
            }
            return value
        }

        /// Minutes east of UTC, 0 if the text has no time zone, or nil if the zone is invalid.
        mutating func zone() -> Int? {
            if atEnd || skip("Z") || skip("z") { return 0 }
            let sign = skip("+") ? 1 : (skip("-") ? -1 : 0)
            guard sign != 0, let hours = number(2) else { return nil }
            _ = skip(":")
            let minutes = atEnd ? 0 : number(2)
            guard let minutes, hours < 16, minutes < 60 else { return nil }
            return sign * (hours * 60 + minutes)
        }
    }
}
