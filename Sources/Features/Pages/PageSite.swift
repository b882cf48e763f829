import Encoding
import JSON
import Platform
import ServerConfiguration
import Templates

/// The pages that links in account emails open: the built-in pages, or the deployment's own versions of them.
public struct PageSite: Sendable {
    private let options: Configuration.Pages
    private let files: PageFiles?
    private let own: [Name: TextTemplate]
    private let builtIn: [String: [BuiltInPage: TextTemplate]]
    private let translations: [Name: PageText]
    private let placeholders: [(String, PageText)]
    /// The URL of the folder of pages, for example `https://example.com/parse/apps`.
    private let folder: String
    private let appURL: String
    private let styleAddress: String
    /// Origins that may frame the pages: the deployment's own page, or none.
    private let frameAncestors: String

    public static let styleFile = "style.css"

    /// Reads all files and templates.
    ///
    /// - Parameter styleAddress: The URL of the style sheet, or nil for the server's own URL.
    /// - Throws: `ConfigurationError` if a file can't be read or isn't a valid template.
    public init(_ configuration: Configuration, styleAddress: String? = nil) throws(ConfigurationError) {
        options = configuration.pages
        frameAncestors = configuration.customPages.parseFrameURL.flatMap(PageAddress.source) ?? "'none'"
        folder = "\(configuration.linkURL ?? "")/\(options.pagesEndpoint)"
        self.styleAddress = styleAddress ?? "\(folder)/\(Self.styleFile)"
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
            throw ConfigurationError(
                "failed to load JSON file: pages.localizationJsonPath must be a readable JSON file with one object per "
                    + "language. Its texts and pages.placeholders must be valid Mustache templates")
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

    public struct Page: Sendable {
        public var html: String
        /// The Content-Security-Policy of the page.
        public var securityPolicy: String
    }

    /// Returns the page with a file name, or nil if it doesn't exist.
    ///
    /// - Parameters:
    ///   - path: The file name, with or without a language folder: `password_reset.html`, `de/password_reset.html`.
    ///   - parameters: The values of the placeholders. They are always escaped, even if a template requests unescaped
    ///     values.
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

    /// The Content-Security-Policy. Forms may target the deployment's custom pages, because browsers also apply
    /// `form-action` to redirects.
    private var policy: String {
        let targets = Set(options.customUrls.values.compactMap(PageAddress.source)).sorted()
        return "default-src 'none'; style-src 'self'; form-action \((["'self'"] + targets).joined(separator: " ")); "
            + "frame-ancestors \(frameAncestors); base-uri 'none'"
    }

    /// Returns a file of the deployment's folder or the built-in style sheet, with its type, or nil if it's missing.
    public func asset(_ path: String) -> (bytes: [UInt8], type: String)? {
        if let content = files?.content(path) { return (content, PageFiles.type(path)) }
        return path.utf8.elementsEqual(Self.styleFile.utf8)
            ? (Array(BuiltInStyle.css.utf8), PageFiles.type(path)) : nil
    }

    /// Returns the URL of a page with its parameters, in the language folder if the page has a translation.
    public func address(of page: BuiltInPage, _ parameters: PageParameters) -> String {
        let file = page.fileName + ".html"
        let locale = options.enableLocalization ? parameters[.locale] : nil
        let hasVariant = locale.map(LanguageTag.candidates)?.contains { candidate in
            candidate.lowercased() == "de" || own[Name("\(candidate)/\(file)")] != nil
        }
        let prefix = hasVariant == true ? (locale ?? "") + "/" : ""
        return PageAddress.setting(parameters.all.map { ($0.key.rawValue, $0.value) }, in: "\(folder)/\(prefix)\(file)")
    }

    /// The available languages.
    public var locales: [String] {
        guard options.enableLocalization else { return ["en"] }
        let folders = own.keys.compactMap { Self.split($0.text).locale } + translations.keys.map(\.text)
        return ["en", "de"] + Set(folders).subtracting(["en", "de"]).filter(LanguageTag.isValid).sorted()
    }

    /// Returns the requested locale, or nil if it isn't a valid language tag.
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

/// Texts of a translation file or of the option `pages.placeholders`: templates in lists and objects.
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
        case .object(let members): Dictionary(members.map { ($0.0, $0.1.render(values)) }) { $1 }
        case .constant(let value): value
        }
    }

    /// The texts of an object by name, or an empty list for other kinds of text.
    var members: [(String, PageText)] {
        if case .object(let members) = self { members } else { [] }
    }
}

/// The files of a deployment's own pages, read when the server starts, so that requests can't reach other files.
struct PageFiles: Sendable {
    /// The file contents by path below the folder, for example `de/password_reset.html`.
    private(set) var contents: [[UInt8]: [UInt8]] = [:]

    /// The limit for all files together, in bytes.
    private static let maxBytes = 64 * 1024 * 1024

    /// Reads a folder.
    ///
    /// - Throws: `ConfigurationError` if the folder can't be read or is too large.
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
            guard size <= Self.maxBytes else {
                throw ConfigurationError(
                    "option pages.pagesPath: the files in \(folder) must have at most 64 MB in total")
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
