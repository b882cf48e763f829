import Encoding
import JSON

/// A header field of the form `value; name=value; name="value"`.
package struct HeaderParameters: Equatable {
    /// The part before the first semicolon, in lower case.
    package let value: String
    /// The parameters, by name in lower case.
    package let parameters: [Name: String]

    /// Parses a field. Returns nil if it is malformed or repeats a parameter.
    package init?(_ bytes: some Sequence<UInt8>) {
        var reader = Reader(bytes: Array(bytes))
        guard let value = reader.text(until: [UInt8(ascii: ";")])?.trimmingSpaces(), !value.isEmpty else { return nil }
        var parameters: [Name: String] = [:]
        while reader.skip(UInt8(ascii: ";")) {
            reader.skipSpaces()
            if reader.isAtEnd { break }
            guard let name = reader.text(until: [UInt8(ascii: "="), UInt8(ascii: ";")])?.asciiLowercased, !name.isEmpty,
                reader.skip(UInt8(ascii: "=")), let parameter = reader.parameterValue(), parameters[name] == nil
            else { return nil }
            parameters[name] = parameter
            reader.skipSpaces()
        }
        guard reader.isAtEnd else { return nil }
        self.value = value.asciiLowercased
        self.parameters = parameters
    }

    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        var isAtEnd: Bool { position == bytes.count }

        mutating func skip(_ byte: UInt8) -> Bool {
            guard position < bytes.count, bytes[position] == byte else { return false }
            position += 1
            return true
        }

        mutating func skipSpaces() {
            while skip(UInt8(ascii: " ")) || skip(UInt8(ascii: "\t")) {}
        }

        /// Returns the text up to one of the bytes or the end, or nil if it isn't UTF-8.
        mutating func text(until ends: [UInt8]) -> String? {
            let start = position
            while position < bytes.count, !ends.contains(bytes[position]) { position += 1 }
            return String(validating: bytes[start..<position], as: UTF8.self)
        }

        /// Returns a quoted or unquoted value, or nil if it is missing or malformed.
        mutating func parameterValue() -> String? {
            guard skip(UInt8(ascii: "\"")) else {
                let text = text(until: [UInt8(ascii: ";"), UInt8(ascii: " "), UInt8(ascii: "\t")])
                return text?.isEmpty == false && text?.contains("\"") == false ? text : nil
            }
            var content: [UInt8] = []
            while position < bytes.count {
                let byte = bytes[position]
                position += 1
                if byte == UInt8(ascii: "\"") { return String(validating: content, as: UTF8.self) }
                // Some clients send Windows paths, so a backslash escapes only a quotation mark or another backslash.
                let isProtecting =
                    byte == UInt8(ascii: "\\") && position < bytes.count
                    && [UInt8(ascii: "\""), UInt8(ascii: "\\")].contains(bytes[position])
                content.append(isProtecting ? bytes[position] : byte)
                if isProtecting { position += 1 }
            }
            return nil
        }
    }
}

/// A `Cookie` field: `name=value; name=value`.
package enum Cookies {
    /// Returns the values of all cookies with the given name, in order.
    package static func values(of name: String, in field: String) -> [String] {
        let start = name + "="
        return field.utf8.split(separator: UInt8(ascii: ";")).compactMap { cookie in
            String(Substring(cookie).trimmingSpaces()).dropping(prefix: start)
        }
    }
}
