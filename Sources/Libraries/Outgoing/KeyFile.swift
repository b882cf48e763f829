import Platform
import ServerConfiguration

/// A key or certificate from the configuration: a path, PEM or JSON text, or the bytes of a key file in Base64.
public struct KeyFile: Sendable {
    public let bytes: [UInt8]

    /// Reads a key or certificate.
    ///
    /// - Parameters:
    ///   - option: The name of the option, for errors.
    ///   - folder: The base folder of relative paths.
    /// - Throws: `ConfigurationError` if the text is neither a key nor the path of a readable file.
    public init(_ text: String, _ option: String, in folder: String) throws {
        if text.contains("-----BEGIN") || text.hasPrefix("{") {
            // In environment variables, line feeds are often written as `\n`.
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
        } else if FileManager.default.fileExists(atPath: path) {
            throw ConfigurationError("option \(option): can't read the file \(path). Check its path, owner and mode")
        } else {
            // The text may be a mistyped key, so the error contains it only if it ends like a file's name.
            let isPath = [".json", ".pem", ".p8", ".p12", ".key", ".crt", ".cer"].contains { text.hasSuffix($0) }
            throw ConfigurationError(
                "option \(option) is neither a key or certificate nor a readable file\(isPath ? ", \(path)" : ""). Set "
                    + "the content itself, or check the file's path, owner and mode")
        }
    }

    /// The content as UTF-8.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}
