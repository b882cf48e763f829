import JSON
import ServerConfiguration
import Templates

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A part of a mail, its subject or a body, in the languages that there are.
struct MailPart: Sendable {
    private var base: PlaceholderText?
    private var byLocale: [Name: PlaceholderText] = [:]

    /// Reads a part. Of a file, those of the same name are read, too, that lie in folders beside it which are named
    /// after languages.
    ///
    /// - Throws: `ConfigurationError` for a file that cannot be read, or is no template.
    init(_ text: Configuration.MailText, _ syntax: Configuration.MailTemplates.Syntax, isHTML: Bool)
        throws(ConfigurationError)
    {
        for (locale, source) in text.byLocale {
            byLocale[locale] = try Self.template(Self.content(source), source, syntax, isHTML)
        }
        guard let source = text.base else { return }
        base = try Self.template(Self.content(source), source, syntax, isHTML)
        switch source {
        case .inline: return
        case .file(let path), .optionalFile(let path):
            for (locale, file) in Self.variants(of: path) where byLocale[locale] == nil {
                byLocale[locale] = try Self.template(Self.read(file), source, syntax, isHTML)
            }
        }
    }

    var locales: [String] { byLocale.keys.map(\.text) }

    /// The text in the first of some languages that there is, else in none.
    func text(in locales: [String]) -> PlaceholderText? {
        for locale in locales {
            for candidate in LanguageTag.candidates(locale) {
                if let text = byLocale[Name(candidate)] { return text }
            }
        }
        return base
    }

    private static func template(
        _ text: String?, _ source: Configuration.MailText.Source, _ syntax: Configuration.MailTemplates.Syntax,
        _ isHTML: Bool
    ) throws(ConfigurationError) -> PlaceholderText? {
        guard let text else { return nil }
        let name =
            switch source {
            case .inline: "a text"
            case .file(let path), .optionalFile(let path): path
            }
        // What Mustache would send as it is belongs to Nunjucks, which has more than placeholders.
        if case .mustache = syntax, text.utf8.firstRange(of: "{%".utf8) != nil {
            throw ConfigurationError(
                "option emailAdapter: \(name) has tags such as {% if %} in it, which are not supported. Use Mustache "
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

    /// The largest template, in bytes.
    private static let largest = 1024 * 1024

    private static func read(_ path: String) throws(ConfigurationError) -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError("option emailAdapter: the file \(path) can't be read")
        }
        guard data.count <= largest else {
            throw ConfigurationError("option emailAdapter: the file \(path) is larger than 1 MB")
        }
        return String(decoding: data, as: UTF8.self)
    }

    /// Its translations in language folders beside it.
    private static func variants(of path: String) -> [(Name, String)] {
        let file = URL(fileURLWithPath: path)
        let folder = file.deletingLastPathComponent().path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter(LanguageTag.isValid).map { (Name($0), "\(folder)/\($0)/\(file.lastPathComponent)") }
            .filter { FileManager.default.fileExists(atPath: $0.1) }
    }
}
