import Encoding
import JSON

extension OptionTable {
    static let pages: [OptionDefinition] = [
        OptionDefinition(
            "pages", "PARSE_SERVER_PAGES", .object,
            "The pages behind links in emails: files, languages, custom URLs",
            members: [
                .flag("enableRouter", nil, \.pages.enableRouter, older: [8: false]),
                .flag("enableLocalization", nil, \.pages.enableLocalization),
                .text("localizationJsonPath", nil, \.pages.localizationJsonPath),
                .text("localizationFallbackLocale", nil, \.pages.localizationFallbackLocale),
                .custom("placeholders", nil, .object, \.pages.placeholders) { value, _ in value.objectValue },
                .flag("forceRedirect", nil, \.pages.forceRedirect), .text("pagesPath", nil, \.pages.pagesPath),
                .text("pagesEndpoint", nil, \.pages.pagesEndpoint),
                .member(
                    "customUrls", .object,
                    members: Configuration.Pages.names.sorted().map { .text($0.text, nil, \.pages.customUrls[$0]) },
                    variables: .init(prefix: "PARSE_SERVER_PAGES_CUSTOM_URL")),
                .member("customRoutes", .array) { value, name, _ throws(ConfigurationError) in
                    guard value.arrayValue?.isEmpty == false else { return }
                    throw ConfigurationError(
                        "option \(name) is not supported: its handlers are JavaScript functions. Put "
                            + "files into the folder of pages.pagesPath, or serve the routes from your own server")
                },
                .flag("encodePageParamHeaders", nil, \.pages.encodePageParamHeaders),
            ], variables: .init(prefix: "PARSE_SERVER_PAGES")),
        OptionDefinition(
            "customPages", "PARSE_SERVER_CUSTOM_PAGES", .object,
            "URLs of your own pages, for redirects without pages.enableRouter. parseFrameURL: your page that frames "
                + "Roost's pages",
            members: Configuration.CustomPage.allCases.map { .text($0.rawValue, nil, \.customPages.urls[$0]) }
                + [.text("parseFrameURL", nil, \.customPages.parseFrameURL)],
            variables: .init(prefix: "PARSE_SERVER_CUSTOM_PAGES")),
    ]
}

extension Configuration {
    /// The option `pages`: the pages that links in emails open.
    public struct Pages: Sendable {
        /// Whether the server uses the newer pages, which it returns itself unless ``forceRedirect`` is set. If false,
        /// it redirects to the older pages, which is the default up to preset 8.
        public var enableRouter = true
        /// The path of the pages below the mount path, without leading and trailing slashes.
        public var pagesEndpoint = "apps"
        /// The folder of files that replace the built-in pages, or nil to use only the built-in pages.
        public var pagesPath: String?
        public var enableLocalization = false
        /// The path of a JSON file of texts by language.
        public var localizationJsonPath: String?
        /// The language used if the request names none, or names one without texts.
        public var localizationFallbackLocale = "en"
        /// Values available to all pages.
        public var placeholders: JSONObject = [:]
        /// Whether the server redirects to the newer pages instead of returning them.
        public var forceRedirect = false
        /// URLs that replace pages, by page name.
        public var customUrls: [Name: String] = [:]
        /// Whether the values of `x-parse-page-param-` headers are percent-encoded.
        public var encodePageParamHeaders = false

        /// The pages that `customUrls` can replace.
        public static let names: Set<Name> = [
            "passwordReset", "passwordResetSuccess", "passwordResetLinkInvalid", "emailVerificationSuccess",
            "emailVerificationSendSuccess", "emailVerificationSendFail", "emailVerificationLinkInvalid",
            "emailVerificationLinkExpired",
        ]
    }

    /// The keys of the option `customPages`: the older pages, each of which a URL can replace.
    public enum CustomPage: String, Sendable, CaseIterable {
        case choosePassword, invalidLink, invalidVerificationLink, expiredVerificationLink, invalidPasswordResetLink
        case linkSendSuccess, linkSendFail, verifyEmailSuccess, passwordResetSuccess
    }

    /// The option `customPages`: URLs that replace the older pages.
    public struct CustomPages: Sendable {
        public var urls: [CustomPage: String] = [:]
        /// The page that emails link to instead, with the actual link as a parameter, or nil to link directly.
        public var parseFrameURL: String?
    }
}

extension Configuration.Pages {
    /// Returns the path without leading and trailing slashes.
    static func folder(_ endpoint: String) throws(ConfigurationError) -> String {
        let parts = endpoint.utf8.split(separator: UInt8(ascii: "/"))
        func isPlain(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || "-_.~".utf8.contains(byte) }
        guard !parts.isEmpty,
            parts.allSatisfy({ $0.allSatisfy(isPlain) && !$0.allSatisfy { $0 == UInt8(ascii: ".") } })
        else { throw .invalid("pages.pagesEndpoint", "a path such as apps") }
        return parts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    }

    /// Warnings about values of `customUrls` that are ignored because they aren't absolute URLs, as in parse-server.
    var warnings: [String] {
        customUrls.sorted { $0.key < $1.key }.filter { !Self.isWhole($0.value) }.map { name, url in
            "option pages.customUrls.\(name) has no effect: \(url) is not an absolute URL, such as "
                + "https://example.com/page"
        }
    }

    /// Returns the URL that replaces a page, or nil to use the page itself.
    public func customURL(_ name: String) -> String? {
        customUrls[Name(name)].flatMap { Self.isWhole($0) ? $0 : nil }
    }

    /// Whether a URL begins with a scheme, such as `https://example.com` or `myapp:done`.
    private static func isWhole(_ url: String) -> Bool {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")), colon > url.startIndex else { return false }
        let scheme = url.utf8[..<colon]
        return scheme.allSatisfy { $0.isASCIIAlphanumeric || "+-.".utf8.contains($0) }
            && !scheme[scheme.startIndex].isASCIIDigit
    }
}
