import JSON

/// The localized texts of a push (`alert-fr`, `title-en-GB`).
struct LocalizedTexts: Sendable {
    private let data: JSONObject
    private let locales: Set<String>

    /// The maximum size of a locale identifier in bytes. Clients send them, so longer ones are ignored.
    private static let longest = 100

    init(_ data: JSONObject) {
        self.data = data
        locales = Set(data.keys.compactMap(Self.locale(of:)))
    }

    private static func locale(of key: Name) -> String? {
        (key.dropping(prefix: "alert-") ?? key.dropping(prefix: "title-")).map(normal)
    }

    private static func normal(_ tag: String) -> String { tag.lowercased().replacing("_", with: "-") }

    /// Returns the push's most specific locale that covers the device's, such as `de` for `de-AT`, or nil if none does.
    func locale(for identifier: String?) -> String? {
        guard let identifier, !locales.isEmpty, identifier.utf8.count <= Self.longest else { return nil }
        var tag = Self.normal(identifier)
        while true {
            if locales.contains(tag) { return tag }
            guard let dash = tag.lastIndex(of: "-") else { return nil }
            tag = String(tag[..<dash])
        }
    }

    /// Returns the data with the texts of one locale, or with only the default texts if `locale` is nil.
    func data(for locale: String?) -> JSONObject {
        guard !locales.isEmpty else { return data }
        var result = data.filter { Self.locale(of: $0.key) == nil }
        for (key, value) in data where Self.locale(of: key) == locale && locale != nil {
            result[key.utf8.starts(with: "alert-".utf8) ? "alert" : "title"] = value
        }
        return result
    }
}
