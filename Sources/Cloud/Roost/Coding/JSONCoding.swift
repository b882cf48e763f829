public import JSON
import ParseModel
import Platform

/// Any JSON value. Numbers are doubles, as in JavaScript.
public typealias JSONValue = JSON.JSONValue
/// A JSON object. Keeps the order of its members.
public typealias JSONObject = JSON.JSONObject

/// Only Roost's own encoder and decoder support `JSONValue` properties. Other coders throw an error.
extension JSONValue: Codable {
    public init(from decoder: any Decoder) throws {
        guard let decoder = decoder as? ValueDecoder else { throw CodingOfOthers() }
        self = decoder.value
    }

    public func encode(to encoder: any Encoder) throws {
        guard let encoder = encoder as? ValueEncoder else { throw CodingOfOthers() }
        encoder.node.content = .value(self)
    }
}

extension Name: Codable {
    public init(from decoder: any Decoder) throws { self.init(try String(from: decoder)) }
    public func encode(to encoder: any Encoder) throws { try text.encode(to: encoder) }
}

/// The error if a `JSONValue` or `ParseObject` is encoded or decoded by another coder, such as Foundation's.
struct CodingOfOthers: Error, CustomStringConvertible {
    var description: String { "JSONValue and ParseObject can only be coded by Roost's own encoder and decoder" }
}

extension Date {
    /// The date in Parse's format: `{"__type":"Date","iso":…}`.
    var parseJSON: JSONValue { parseDate.json }

    /// The date rounded to milliseconds and clamped to the years 0 to 9999.
    var parseDate: ParseDate {
        let milliseconds = (timeIntervalSince1970 * 1000).rounded()
        let limited = min(max(milliseconds.isNaN ? 0 : milliseconds, -62_167_219_200_000), 253_402_300_799_999)
        return ParseDate(milliseconds: Int64(limited))
    }

    /// Parses a `Date` object or an ISO 8601 string, or returns nil if the value is neither.
    init?(parseJSON value: JSONValue) {
        guard let date = (value["iso"] ?? value).stringValue.flatMap(ParseDate.init(iso:)) else { return nil }
        self.init(timeIntervalSince1970: Double(date.milliseconds) / 1000)
    }
}
