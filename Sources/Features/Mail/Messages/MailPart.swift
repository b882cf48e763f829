import JSON
import Platform
import ServerConfiguration
import Templates

/// The subject or a body of an email in all available languages.
struct MailPart: Sendable {
    private var base: PlaceholderText?
    private var byLocale: [Name: PlaceholderText] = [:]
    /// The templates as written, by language or `default`.
    private(set) var source: JSONObject = [:]

    /// Reads a part. For a file, also reads the files of the same name in subfolders that are named after languages.
    ///
    /// - Parameter name: The name of the part, such as `passwordResetEmail.html`, for errors.
    /// - Throws: `ConfigurationError` if a file can't be read or isn't a valid template.
    init(_ text: Configuration.MailText, _ name: String, _ syntax: Configuration.MailTemplates.Syntax, isHTML: Bool)
        throws(ConfigurationError)
    {
        for (locale, source) in text.byLocale {
            byLocale[locale] = try template(
                Self.content(source), Self.name(of: source, "\(name).\(locale)"), syntax, isHTML, locale)
        }
        guard let source = text.base else { return }
        base = try template(Self.content(source), Self.name(of: source, name), syntax, isHTML, "default")
        switch source {
        case .inline: return
        case .file(let path), .optionalFile(let path):
            for (locale, file) in Self.variants(of: path) where byLocale[locale] == nil {
                byLocale[locale] = try template(Self.read(file), file, syntax, isHTML, locale)
            }
        }
    }

    var locales: [String] { byLocale.keys.map(\.text) }

    /// Returns the text in the first available of the preferred languages, or else the default text.
    func text(in locales: [String]) -> PlaceholderText? {
        for locale in locales {
            for candidate in LanguageTag.candidates(locale) {
                if let text = byLocale[Name(candidate)] { return text }
            }
        }
        return base
    }

    private static func name(of source: Configuration.MailText.Source, _ name: String) -> String {
        switch source {
        case .inline: name
        case .file(let path), .optionalFile(let path): path
        }
    }

    private mutating func template(
        _ text: String?, _ name: String, _ syntax: Configuration.MailTemplates.Syntax, _ isHTML: Bool, _ locale: Name
    ) throws(ConfigurationError) -> PlaceholderText? {
        guard let text else { return nil }
        source[locale] = .string(text)
        // Mustache would send these Nunjucks tags unchanged.
        if case .mustache = syntax, text.utf8.firstRange(of: "{%".utf8) != nil {
            throw ConfigurationError(
                "option emailAdapter: \(name) contains tags such as {% if %}, which are not supported. Use Mustache "
                    + "variables and sections: {{link}}, {{#username}}…{{/username}}")
        }
        do {
            return try PlaceholderText(text, syntax, isHTML: isHTML)
        } catch {
            throw ConfigurationError("option emailAdapter: \(name) is not a valid Mustache template")
        }
    }

    private static func content(_ source: Configuration.MailText.Source) throws(ConfigurationError) -> String? {
        switch source {
        case .inline(let text): text
        case .file(let path): try read(path)
        case .optionalFile(let path): FileManager.default.fileExists(atPath: path) ? try read(path) : nil
        }
    }

    private static let largest = 1024 * 1024

    private static func read(_ path: String) throws(ConfigurationError) -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError("option emailAdapter: can't read the file \(path). Check its path, owner and mode")
        }
        guard data.count <= largest else {
            throw ConfigurationError("option emailAdapter: the file \(path) is larger than 1 MB")
        }
        return String(decoding: data, as: UTF8.self)
    }

    private static func variants(of path: String) -> [(Name, String)] {
        let file = URL(fileURLWithPath: path)
        let folder = file.deletingLastPathComponent().path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter(LanguageTag.isValid).map { (Name($0), "\(folder)/\($0)/\(file.lastPathComponent)") }
            .filter { FileManager.default.fileExists(atPath: $0.1) }
    }
}
