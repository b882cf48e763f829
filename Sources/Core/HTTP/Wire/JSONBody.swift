import Encoding
import JSON

/// Parses request bodies into JSON objects. JSON is recognized regardless of the content type.
package enum JSONBody {
    /// The maximum nesting depth of a body.
    package static let maximumDepth = JSONValue.greatestDepthFromOutside

    /// Parses a body.
    ///
    /// - Parameters:
    ///   - bytes: The whole body.
    ///   - contentType: The content type. A form is parsed as a form unless its body looks like JSON.
    /// - Returns: The object. An array becomes an object with the keys `0`, `1`, …. An empty body becomes an empty
    ///   object.
    /// - Throws: ``HTTPError`` 400 if the body is neither a JSON object or array nor a form, is nested too deeply, or
    ///   contains NUL characters.
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

    /// Returns an object of an internal request as if it had been parsed from a body, with the same limits and errors.
    ///
    /// Serializes and parses the object only if that could reject or change it, which is rare.
    ///
    /// - Parameters:
    ///   - size: The approximate size of the object in bytes (`roughSize`).
    ///   - limit: The maximum size of a body in bytes.
    /// - Throws: ``HTTPError/bodyTooLarge``, or the errors of ``parse(_:contentType:)``.
    package static func checked(_ object: JSONObject, size: Int, upTo limit: Int) throws(HTTPError) -> JSONObject {
        if size <= limit / 6, JSONValue.object(object).isAsRead(levels: maximumDepth) { return object }
        let bytes = object.serialized()
        guard bytes.count <= limit else { throw .bodyTooLarge }
        return try parse(bytes, contentType: nil)
    }

    /// Whether a query string or form contains a NUL character, which PostgreSQL can't store.
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

    /// Removes the byte order mark that some editors put before UTF-8 text.
    package static func withoutByteOrderMark(_ bytes: [UInt8]) -> [UInt8] {
        bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes[3...]) : bytes
    }

    /// Whether JSON text contains an escaped NUL character. A backslash that is itself escaped doesn't start one.
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
