import Encoding
import NIOHTTP1

/// The header fields of a request, with the positions of the known ones, because Roost looks up dozens of fields, of
/// which a request has only a few.
package struct RequestHeaders: Sendable {
    private let fields: HTTPHeaders
    /// For each known name, the one-based position of its first field, or zero. Holds up to 64 names. An HTTP request
    /// has at most 256 fields (`ConnectionHandler.maxHeaderFields`).
    private var positions = SIMD64<UInt16>()
    private var hasRepetitions = false

    package init(_ fields: HTTPHeaders) {
        self.fields = fields
        var position: UInt16 = 0
        for field in fields {
            position += 1
            guard let name = HeaderName(field: field.name) else { continue }
            if positions[Int(name.rawValue)] == 0 {
                positions[Int(name.rawValue)] = position
            } else {
                hasRepetitions = true
            }
        }
    }

    /// Creates the header fields of a request that was not sent over HTTP. Ignores fields after the 65,535th.
    package init(_ fields: [(name: String, value: String)]) {
        self.init(HTTPHeaders(fields.prefix(Int(UInt16.max)).map { ($0.name, $0.value) }))
    }

    /// The value of a field, or nil if missing. The values of repeated fields are joined with commas (RFC 9110, 5.3).
    package subscript(name: HeaderName) -> String? {
        let position = Int(positions[Int(name.rawValue)])
        guard position > 0 else { return nil }
        let first = fields.index(fields.startIndex, offsetBy: position - 1)
        guard hasRepetitions else { return Self.withoutTrailingSpaces(fields[first].value) }
        return fields[first...].lazy.filter { name.matches($0.name) }.map { Self.withoutTrailingSpaces($0.value) }
            .joined(separator: ", ")
    }

    func count(of name: HeaderName) -> Int {
        let position = Int(positions[Int(name.rawValue)])
        guard position > 0, hasRepetitions else { return position > 0 ? 1 : 0 }
        return fields[fields.index(fields.startIndex, offsetBy: position - 1)...].lazy.filter { name.matches($0.name) }
            .count
    }

    /// All fields in the order of the request.
    package var all: some Sequence<(name: String, value: String)> {
        fields.lazy.map { (name: $0.name, value: Self.withoutTrailingSpaces($0.value)) }
    }

    /// The parser strips leading spaces only.
    private static func withoutTrailingSpaces(_ value: String) -> String {
        guard let last = value.utf8.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") else { return value }
        return String(value.trimmingSpaces())
    }
}
