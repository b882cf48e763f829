import Encoding
import JSON
import ServerConfiguration
import Templates

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The pages that links in mails lead to: the built-in ones, and a deployment's own in their place.
public struct PageSite: Sendable {
    private let options: Configuration.Pages
    private let files: PageFiles?
    private let own: [Name: TextTemplate]
    private let builtIn: [String: [BuiltInPage: TextTemplate]]
    private let translations: [Name: PageText]
    private let placeholders: [(String, PageText)]
    /// The address of the folder of pages: `https://example.com/parse/apps`.
    private let folder: String
    private let appURL: String
    private let styleAddress: String
    /// Origins that may frame the pages: the deployment's own page, or none.
    private let frameAncestors: String

    /// The style's file name.
    public static let styleFile = BuiltInStyle.file

    /// Reads all files and templates.
    ///
    /// - Parameter styleAddress: Where pages find their style; nil for where the server has it.
    /// - Throws: `ConfigurationError` for what cannot be read.
    public init(_ configuration: Configuration, styleAddress: String? = nil) throws(ConfigurationError) {
        options = configuration.pages
        frameAncestors = configuration.customPages.parseFrameURL.flatMap(PageAddress.source) ?? "'none'"
        folder = "\(configuration.linkURL ?? "")/\(options.pagesEndpoint)"
        self.styleAddress = styleAddress ?? "\(folder)/\(BuiltInStyle.file)"
        appURL = "\(folder)/\(PercentEncoding.encode(configuration.appId))"
        var files: PageFiles?
        if let path = options.pagesPath { files = try PageFiles(folder: path) }
        self.files = files
        var own: [Name: TextTemplate] = [:]
        for (path, content) in files?.contents ?? [:] where path.suffix(5).elementsEqual(".html".utf8) {
            let name = String(decoding: path, as: UTF8.self)
            do {
                own[Name(name)] = try TextTemplate(String(decoding: content, as: UTF8.self), .html)
            } catch {
                throw ConfigurationError("option pages.pagesPath: \(name) is not a valid Mustache template")
            }
        }
        self.own = own
        do {
            builtIn = [
                "en": try Self.templates(.english), "de": try Self.templates(.german),
            ]
            translations = try Self.translations(options.localizationJsonPath)
            placeholders = try PageText(.object(options.placeholders)).members
        } catch {
            throw ConfigurationError("failed to load JSON file: a text of the pages is not a valid Mustache template")
        }
    }

    private static func templates(_ texts: BuiltInTexts) throws(TextTemplate.Malformed) -> [BuiltInPage: TextTemplate] {
        var templates: [BuiltInPage: TextTemplate] = [:]
        for page in BuiltInPage.allCases { templates[page] = try TextTemplate(page.template(texts), .html) }
        return templates
    }

    private static func translations(_ path: String?) throws -> [Name: PageText] {
        guard let path else { return [:] }
        guard let data = FileManager.default.contents(atPath: path),
            let json = try? JSONValue(parsing: Array(data)).objectValue
        else { throw TextTemplate.Malformed() }
        var texts: [Name: PageText] = [:]
        for (locale, value) in json { texts[locale] = try PageText(value["translation"] ?? [:]) }
        return texts
    }

    /// A page as a browser gets it.
    public struct Page: Sendable {
        /// The content.
        public var html: String
        /// What it may load, and where its forms may go.
        public var securityPolicy: String
    }

    /// A page by the name of its file; nil where there is none.
    ///
    /// - Parameters:
    ///   - path: The name, below a language or not: `password_reset.html`, `de/password_reset.html`.
    ///   - parameters: What it shows. They are escaped, whatever a template asks for.
    public func page(_ path: String, _ parameters: PageParameters) -> Page? {
        let locale = options.enableLocalization ? parameters[.locale] : nil
        let (folderLocale, file) = Self.split(path)
        let candidates = (locale ?? folderLocale).map(LanguageTag.candidates) ?? []
        for name in candidates.map({ "\($0)/\(file)" }) + [path, file] {
            if let template = own[Name(name)] {
                return Page(
                    html: template.render(values(parameters, BuiltInTexts.english)),
                    securityPolicy: "frame-ancestors \(frameAncestors); base-uri 'none'")
            }
        }
        guard let page = BuiltInPage.allCases.first(where: { $0.files.contains(file) }) else { return nil }
        let language = candidates.last.map { $0.lowercased() } == "de" ? "de" : "en"
        let texts = language == "de" ? BuiltInTexts.german : .english
        guard let template = builtIn[language]?[page] else { return nil }
        return Page(html: template.render(values(parameters, texts)), securityPolicy: policy)
    }

    /// Forms may target the deployment's custom pages, because browsers apply `form-action` to redirects, too.
    private var policy: String {
        let targets = Set(options.customUrls.values.compactMap(PageAddress.source)).sorted()
        return "default-src 'none'; style-src 'self'; form-action \((["'self'"] + targets).joined(separator: " ")); "
            + "frame-ancestors \(frameAncestors); base-uri 'none'"
    }

    /// A file that is no page, with its type.
    public func asset(_ path: String) -> (bytes: [UInt8], type: String)? {
        if let content = files?.content(path) { return (content, PageFiles.type(path)) }
        return path.utf8.elementsEqual(BuiltInStyle.file.utf8)
            ? (Array(BuiltInStyle.css.utf8), PageFiles.type(path)) : nil
    }

    /// The address of a page with its parameters, below its language where it has one.
    public func address(of page: BuiltInPage, _ parameters: PageParameters) -> String {
        let file = page.fileName + ".html"
        let locale = options.enableLocalization ? parameters[.locale] : nil
        let hasVariant = locale.map(LanguageTag.candidates)?.contains { candidate in
            candidate.lowercased() == "de" || own[Name("\(candidate)/\(file)")] != nil
        }
        let prefix = hasVariant == true ? (locale ?? "") + "/" : ""
        return PageAddress.setting(parameters.all.map { ($0.key.rawValue, $0.value) }, in: "\(folder)/\(prefix)\(file)")
    }

    /// The languages that pages are in.
    public var locales: [String] {
        guard options.enableLocalization else { return ["en"] }
        let folders = own.keys.compactMap { Self.split($0.text).locale } + translations.keys.map(\.text)
        return ["en", "de"] + Set(folders).subtracting(["en", "de"]).filter(LanguageTag.isValid).sorted()
    }

    /// Escapes a text as HTML.
    public static func escaped(_ text: String) -> String { HTMLEscaping.escape(text) }

    /// A language that a request asks for, where it is one.
    public static func locale(_ text: String?) -> String? { text.flatMap { LanguageTag.isValid($0) ? $0 : nil } }

    private static func split(_ path: String) -> (locale: String?, file: String) {
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2, let locale = String(parts[0]), LanguageTag.isValid(locale), let file = String(parts[1])
        else { return (nil, path) }
        return (locale, file)
    }

    private func values(_ parameters: PageParameters, _ texts: BuiltInTexts) -> [String: any Sendable] {
        var values: [String: any Sendable] = [:]
        for (key, value) in parameters.all { values[key.rawValue] = HTMLEscaping.escape(value) }
        if let error = parameters[.error] {
            values["problem"] = HTMLEscaping.escape(texts.errors[Name(error)] ?? error)
        }
        values["style"] = HTMLEscaping.escape(styleAddress)
        values["appUrl"] = HTMLEscaping.escape(appURL)
        for (name, text) in placeholders { values[name] = text.render(values) }
        let locales = (options.enableLocalization ? parameters[.locale].map(LanguageTag.candidates) ?? [] : [])
        let found = (locales + [options.localizationFallbackLocale]).lazy.compactMap { translations[Name($0)] }.first
        for (name, text) in found?.members ?? [] { values[name] = text.render(values) }
        return values
    }
}

/// The texts of one language, as a file of translations holds them: templates, in lists and objects.
indirect enum PageText: Sendable {
    case template(TextTemplate)
    case list([PageText])
    case object([(String, PageText)])
    case constant(any Sendable)

    init(_ json: JSONValue) throws(TextTemplate.Malformed) {
        switch json {
        case .string(let text): self = .template(try TextTemplate(text, .html))
        case .array(let list):
            var texts: [PageText] = []
            for element in list { texts.append(try PageText(element)) }
            self = .list(texts)
        case .object(let members):
            var texts: [(String, PageText)] = []
            for (name, member) in members where !member.isNull { texts.append((name.text, try PageText(member))) }
            self = .object(texts)
        case .bool(let value): self = .constant(value)
        default: self = .constant(json.text)
        }
    }

    func render(_ values: [String: any Sendable]) -> any Sendable {
        switch self {
        case .template(let template): template.render(values)
        case .list(let list): list.map { $0.render(values) }
        case .object(let members): Self.members(members, values)
        case .constant(let value): value
        }
    }

    /// The texts of an object, by their names.
    var members: [(String, PageText)] {
        if case .object(let members) = self { members } else { [] }
    }

    private static func members(_ members: [(String, PageText)], _ values: [String: any Sendable]) -> [String:
        any Sendable]
    {
        Dictionary(members.map { ($0.0, $0.1.render(values)) }) { $1 }
    }
}

/// The files of a deployment's own pages, read when the server starts: no request reaches the disk, so no path leads out
/// of the folder.
struct PageFiles: Sendable {
    /// Contents by their paths below the folder, such as `de/password_reset.html`.
    private(set) var contents: [[UInt8]: [UInt8]] = [:]

    /// The limit of all files, in bytes.
    private static let most = 64 * 1024 * 1024

    /// Reads a folder; throws `ConfigurationError` for a folder that cannot be read, or holds more than pages do.
    init(folder: String) throws(ConfigurationError) {
        let root = URL(fileURLWithPath: folder).resolvingSymlinksInPath()
        guard FileManager.default.fileExists(atPath: root.path) else {
            throw ConfigurationError("option pages.pagesPath: folder not found: \(folder)")
        }
        guard let paths = try? FileManager.default.subpathsOfDirectory(atPath: root.path) else {
            throw ConfigurationError("option pages.pagesPath: the folder \(folder) can't be read")
        }
        var size = 0
        for path in paths {
            let file = "\(root.path)/\(path)"
            guard
                (try? FileManager.default.attributesOfItem(atPath: file))?[.type] as? FileAttributeType == .typeRegular,
                let data = FileManager.default.contents(atPath: file)
            else { continue }
            size += data.count
            guard size <= Self.most else {
                throw ConfigurationError(
                    "option pages.pagesPath: the files below \(folder) are larger than 64 MB together")
            }
            contents[Array(path.utf8)] = Array(data)
        }
    }

    func content(_ path: String) -> [UInt8]? { contents[Array(path.utf8)] }

    static func type(_ path: String) -> String {
        switch path.utf8.split(separator: UInt8(ascii: ".")).last.map({ String($0)?.lowercased() ?? "" }) ?? "" {
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "json": "application/json; charset=utf-8"
        case "txt": "text/plain; charset=utf-8"
        case "html", "htm": "text/html; charset=utf-8"
        case "png": "image/png"
        case "jpg", "jpeg": "image/jpeg"
        case "gif": "image/gif"
        case "webp": "image/webp"
        case "svg": "image/svg+xml"
        case "ico": "image/x-icon"
        case "woff2": "font/woff2"
        case "woff": "font/woff"
        default: "application/octet-stream"
        }
    }
}
