import Encoding
import HTTP
import JSON

/// A request below the folder of the pages. It needs no keys, and its body is a form.
struct PageRequest {
    let method: String
    /// The decoded path below the folder.
    let path: [String]
    private let query: JSONObject
    private let form: JSONObject
    /// Whether a script sent it, which wants JSON.
    let isFromScript: Bool
    private let localeField: String?

    /// - Parameters:
    ///   - body: The body; it counts where its type is that of a form.
    init(_ request: IncomingRequest, target: RequestTarget, path: [String], body: [UInt8]) {
        method = request.method
        self.path = path
        query = target.query.map { FormEncoding.strings($0) } ?? [:]
        let type = request.headers[.contentType].flatMap { $0.split(separator: ";").first }.map(String.init) ?? ""
        let isForm = type.asciiLowercased == "application/x-www-form-urlencoded"
        form = isForm ? FormEncoding.strings(String(decoding: body, as: UTF8.self)) : [:]
        isFromScript = request.headers[.requestedWith]?.asciiLowercased == "xmlhttprequest"
        localeField = request.headers[.pageLocale]
    }

    /// A field of the form or of the query; nil where it is missing, empty, repeated, or has a NUL in it.
    func field(_ name: Name) -> String? {
        for fields in [form, query] {
            if let value = fields[name] { return value.stringValue.flatMap { Self.isUsable($0) ? $0 : nil } }
        }
        return nil
    }

    /// Whether a field came more than once.
    func isRepeated(_ name: Name) -> Bool { form[name]?.arrayValue != nil }

    /// A field of the query.
    func queried(_ name: Name) -> String? { query[name]?.stringValue.flatMap { Self.isUsable($0) ? $0 : nil } }

    /// The language that is asked for.
    var locale: String? { queried("locale") ?? field("locale") ?? localeField }

    private static func isUsable(_ text: String) -> Bool { !text.isEmpty && !text.utf8.contains(0) }
}
