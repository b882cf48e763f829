public import JSON
import ParseModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Any JSON value. Numbers are doubles, as in JavaScript.
public typealias JSONValue = JSON.JSONValue
/// The members of a JSON object, in their order.
public typealias JSONObject = JSON.JSONObject

/// JSON values can be parts of types that are coded. Only the coding of this module knows them.
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

/// So can names.
extension Name: Codable {
    public init(from decoder: any Decoder) throws { self.init(try String(from: decoder)) }
    public func encode(to encoder: any Encoder) throws { try text.encode(to: encoder) }
}

/// A value of Parse met an encoder or a decoder of another kind than those of this module.
struct CodingOfOthers: Error, CustomStringConvertible {
    var description: String { "Values of Parse are coded by Roost alone." }
}

extension Date {
    /// A date as Parse writes it: `{"__type":"Date","iso":…}`.
    var parseJSON: JSONValue { parseDate.json }

    /// To the millisecond; dates that Parse has no words for are the nearest that it has.
    var parseDate: ParseDate {
        let milliseconds = (timeIntervalSince1970 * 1000).rounded()
        // The years 0 and 9999.
        let limited = min(max(milliseconds.isNaN ? 0 : milliseconds, -62_167_219_200_000), 253_402_300_799_999)
        return ParseDate(milliseconds: Int64(limited))
    }

    /// Reads a date as Parse writes it, or as a plain text.
    init?(parseJSON value: JSONValue) {
        guard let date = (value["iso"] ?? value).stringValue.flatMap(ParseDate.init(iso:)) else { return nil }
        self.init(timeIntervalSince1970: Double(date.milliseconds) / 1000)
    }
}
