import Encoding
import JSON
import ParseModel

/// Formats values in MongoDB's canonical Extended JSON (version 2), with the types that parse-server stores.
enum ExtendedJSONWriter {
    /// Appends a number as parse-server's driver stores it: as a 32-bit integer if possible, otherwise as a double.
    static func number(_ number: Double, into writer: inout JSONWriter) {
        if let integer = Int32(exactly: number), integer != 0 || number.sign == .plus {
            writer.raw("{\"$numberInt\":\"")
            writer.integer(Int(integer))
        } else {
            writer.raw("{\"$numberDouble\":\"")
            double(number, into: &writer)
        }
        writer.raw("\"}")
    }

    /// Appends a double. Integers below 1e21 end with `.0`.
    private static func double(_ number: Double, into writer: inout JSONWriter) {
        guard number.isFinite else {
            writer.raw(number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity")
            return
        }
        if number == 0, number.sign == .minus { return writer.raw("-0.0") }
        let start = writer.count
        writer.number(number)
        if number.rounded() == number, abs(number) < 1e21, writer.count > start { writer.raw(".0") }
    }

    /// Appends a coordinate, which is a double even if it is an integer.
    static func coordinate(_ number: Double, into writer: inout JSONWriter) {
        writer.raw("{\"$numberDouble\":\"")
        double(number, into: &writer)
        writer.raw("\"}")
    }

    static func date(_ date: ParseDate, into writer: inout JSONWriter) {
        writer.raw("{\"$date\":{\"$numberLong\":\"")
        writer.integer(Int(date.milliseconds))
        writer.raw("\"}}")
    }

    /// Appends a value of an object or array field. Parse dates and bytes become MongoDB's types.
    static func nested(_ value: JSONValue, into writer: inout JSONWriter) {
        switch value {
        case .null, .bool, .string: writer.value(value)
        case .number(let number): self.number(number, into: &writer)
        case .array(let elements):
            writer.byte(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { writer.byte(UInt8(ascii: ",")) }
                nested(element, into: &writer)
            }
            writer.byte(UInt8(ascii: "]"))
        case .object(let object):
            if object["__type"] == "Date", let date = object["iso"]?.stringValue.flatMap({ ParseDate(iso: $0) }) {
                return self.date(date, into: &writer)
            }
            if object["__type"] == "Bytes", let base64 = object["base64"]?.stringValue {
                writer.raw("{\"$binary\":{\"base64\":")
                writer.string(base64)
                return writer.raw(",\"subType\":\"00\"}}")
            }
            writer.byte(UInt8(ascii: "{"))
            var isFirst = true
            for (key, member) in object {
                if isFirst { isFirst = false } else { writer.byte(UInt8(ascii: ",")) }
                writer.string(key.text)
                writer.byte(UInt8(ascii: ":"))
                nested(member, into: &writer)
            }
            writer.byte(UInt8(ascii: "}"))
        }
    }
}
