import NIOHTTP1

/// The header fields of a request as they came.
struct RequestHeaders {
    private let fields: HTTPHeaders

    init(_ fields: HTTPHeaders) {
        self.fields = fields
    }

    /// The value of a field; those of several fields of one name with commas between them (RFC 9110, 5.3); nil when there
    /// is none.
    subscript(name: HeaderName) -> String? {
        var result: String?
        for field in fields where name.matches(field.name) {
            let value = Self.withoutTrailingSpaces(field.value)
            result = result.map { "\($0), \(value)" } ?? value
        }
        return result
    }

    /// All fields in their order.
    var all: some Sequence<(name: String, value: String)> {
        fields.lazy.map { (name: $0.name, value: Self.withoutTrailingSpaces($0.value)) }
    }

    /// The parser leaves out the spaces before a value only.
    private static func withoutTrailingSpaces(_ value: String) -> String {
        guard let last = value.utf8.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") else { return value }
        return String(value.trimmingSpaces())
    }
}
