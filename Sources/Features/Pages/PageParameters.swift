import Encoding

/// The parameters of a page, in the order in which they appear in URLs.
public struct PageParameters: Sendable {
    /// The parameters, with parse-server's names.
    public enum Key: String, Sendable, CaseIterable {
        case token, username, appId, appName, publicServerUrl, error, locale
    }

    public private(set) var all: [(key: Key, value: String)] = []

    /// Creates parameters in the given order. Those without a value are left out.
    public init(_ parameters: [(Key, String?)] = []) {
        for (key, value) in parameters { self[key] = value }
    }

    /// The value of a parameter. Replacing a value keeps the parameter's position.
    public subscript(key: Key) -> String? {
        get { all.first { $0.key == key }?.value }
        set {
            let place = all.firstIndex { $0.key == key }
            switch (place, newValue) {
            case (let place?, let value?): all[place].value = value
            case (let place?, nil): all.remove(at: place)
            case (nil, let value?): all.append((key, value))
            case (nil, nil): break
            }
        }
    }

    /// Returns the header fields that tell programs the parameters of the page.
    ///
    /// - Parameter encodes: Whether values are percent-encoded. Otherwise control characters are removed.
    public func headers(encodes: Bool) -> [(String, String)] {
        all.map { key, value in
            let text = encodes ? PercentEncoding.encode(value) : Self.withoutControls(value)
            return ("x-parse-page-param-" + key.rawValue.lowercased(), text)
        }
    }

    private static func withoutControls(_ value: String) -> String {
        String(
            String.UnicodeScalarView(
                value.unicodeScalars.filter { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }))
    }
}
