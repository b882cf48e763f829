import ServerConfiguration

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A key or a certificate as configurations name it: a path, a PEM text, or either's bytes in Base64.
public struct KeyFile: Sendable {
    /// Its content.
    public let bytes: [UInt8]

    /// Reads one.
    ///
    /// - Parameters:
    ///   - option: What to call it when it cannot be read.
    ///   - folder: Where relative paths begin.
    /// - Throws: `ConfigurationError` that says why.
    public init(_ text: String, _ option: String, in folder: String) throws {
        if text.contains("-----BEGIN") || text.hasPrefix("{") {
            // Variables of the environment often hold line feeds as two characters.
            bytes = Array(text.replacing("\\n", with: text.hasPrefix("{") ? "\\n" : "\n").utf8)
            return
        }
        let path = text.hasPrefix("/") ? text : "\(folder)/\(text)"
        if let data = FileManager.default.contents(atPath: path) {
            bytes = Array(data)
        } else if let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters), data.count > 40,
            text.utf8.count > 60
        {
            bytes = Array(data)
        } else {
            throw ConfigurationError("option \(option): no such file \(path)")
        }
    }

    /// Its content as UTF-8.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}
