import Encoding
import JSON

/// Turns the bytes of a request body into a JSON object, whatever its content type says.
package enum JSONBody {
    /// How deep a body may be nested.
    package static let maximumDepth = JSONValue.greatestDepthFromOutside

    /// Reads a body.
    ///
    /// - Parameters:
    ///   - bytes: The whole body.
    ///   - contentType: The content type; a form is read as one unless it is JSON in disguise.
    /// - Returns: The object; an array as an object with the keys `0`, `1`, ...; nothing as an empty object.
    /// - Throws: ``HTTPError`` 400 when the body is not JSON, too deep, neither object nor array, or has NUL characters.
    package static func parse(_ bytes: [UInt8], contentType: String?) throws(HTTPError) -> JSONObject {
        let bytes = withoutByteOrderMark(bytes)
        if bytes.isEmpty { return [:] }
        let first = bytes.first { $0 > 0x20 }
        let looksLikeJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        if !looksLikeJSON {
            guard isForm(contentType), let text = String(validating: bytes, as: UTF8.self) else {
                throw HTTPError(status: 400, message: "The body must be a JSON object or array.")
            }
            return try form(text)
        }
        guard !containsEscapedNull(bytes) else { throw nullCharacter }
        let value: JSONValue
        do {
            value = try JSONValue(parsing: bytes, maximumDepth: maximumDepth)
        } catch {
            throw HTTPError(status: 400, message: "Malformed JSON: \(error)")
        }
        return object(value)
    }

    /// An object that was sent without bytes, as it would be if it had been a body: the same limits and refusals hold.
    ///
    /// It is written and read only where that may refuse or change it, which is rare.
    ///
    /// - Parameters:
    ///   - size: About how many bytes it has (`roughSize`).
    ///   - limit: The most bytes of a body.
    /// - Throws: ``HTTPError/bodyTooLarge``; what ``parse(_:contentType:)`` throws.
    package static func taken(_ object: JSONObject, size: Int, upTo limit: Int) throws(HTTPError) -> JSONObject {
        if size <= limit / 6, JSONValue.object(object).isAsRead(levels: maximumDepth) { return object }
        let bytes = object.serialized()
        guard bytes.count <= limit else { throw .bodyTooLarge }
        return try parse(bytes, contentType: nil)
    }

    /// Whether a query string or form holds a NUL character, which PostgreSQL cannot store.
    package static func containsNull(_ object: JSONObject) -> Bool {
        JSONValue.object(object).containsNUL
    }

    package static let nullCharacter = HTTPError(status: 400, message: "NUL characters are not allowed.")

    private static func object(_ value: JSONValue) -> JSONObject {
        switch value {
        case .object(let object): return object
        case .array(let elements):
            var object: JSONObject = [:]
            for (index, element) in elements.enumerated() { object[String(index)] = element }
            return object
        default: return [:]
        }
    }

    private static func form(_ text: String) throws(HTTPError) -> JSONObject {
        let object = FormEncoding.strings(text)
        guard !containsNull(object) else { throw nullCharacter }
        return object
    }

    private static func isForm(_ contentType: String?) -> Bool {
        MediaType(contentType ?? "")?.essence == "application/x-www-form-urlencoded"
    }

    /// Text without the mark that some editors put before UTF-8.
    package static func withoutByteOrderMark(_ bytes: [UInt8]) -> [UInt8] {
        bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes[3...]) : bytes
    }

    /// Whether JSON text holds the escape sequence of a NUL character. A backslash that is itself escaped does not
    /// begin one.
    package static func containsEscapedNull(_ bytes: [UInt8]) -> Bool {
        var index = 0
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "\\") else {
                index += 1
                continue
            }
            if bytes[index...].starts(with: escapedNull) { return true }
            index += 2
        }
        return false
    }

    private static let escapedNull = Array("\\u0000".utf8)
}
