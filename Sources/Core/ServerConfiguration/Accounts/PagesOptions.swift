import Encoding
import JSON

extension OptionTable {
    /// The pages that links in mails lead to.
    static let pages: [OptionDefinition] = [
        OptionDefinition(
            "pages", "PARSE_SERVER_PAGES", .object,
            "The pages behind links in mails: files, languages, your own addresses",
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
                            + "files into the folder of pages.pagesPath, or answer with a server of your own")
                },
                .flag("encodePageParamHeaders", nil, \.pages.encodePageParamHeaders),
            ], variables: .init(prefix: "PARSE_SERVER_PAGES")),
        OptionDefinition(
            "customPages", "PARSE_SERVER_CUSTOM_PAGES", .object,
            "Your own pages, for the redirects of parse-server up to 8; parseFrameURL: the page around links in mails",
            members: Configuration.CustomPage.allCases.map { .text($0.rawValue, nil, \.customPages.urls[$0]) }
                + [.text("parseFrameURL", nil, \.customPages.parseFrameURL)],
            variables: .init(prefix: "PARSE_SERVER_CUSTOM_PAGES")),
    ]
}

extension Configuration {
    /// The pages that links in mails lead to: the option `pages`.
    public struct Pages: Sendable {
        /// Whether pages are answered as such. Otherwise they are redirected to, as parse-server did up to version 8.
        public var enableRouter = true
        /// The folder of the interface below which the pages and their links are, without slashes at its ends.
        public var pagesEndpoint = "apps"
        /// The folder of files that take the place of the built-in pages; nil for none.
        public var pagesPath: String?
        /// Whether pages exist in several languages.
        public var enableLocalization = false
        /// A JSON file of texts by language; nil for none.
        public var localizationJsonPath: String?
        /// The language of texts for a request that asks for none, or for one that there is not.
        public var localizationFallbackLocale = "en"
        /// Texts that all pages may show.
        public var placeholders: JSONObject = [:]
        /// Whether every answer is a redirect to a page.
        public var forceRedirect = false
        /// Addresses in place of pages, by the names of the pages.
        public var customUrls: [Name: String] = [:]
        /// Whether what `x-parse-page-param-` header fields say is percent-encoded.
        public var encodePageParamHeaders = false

        /// The names of pages that `customUrls` may replace.
        public static let names: Set<Name> = [
            "passwordReset", "passwordResetSuccess", "passwordResetLinkInvalid", "emailVerificationSuccess",
            "emailVerificationSendSuccess", "emailVerificationSendFail", "emailVerificationLinkInvalid",
            "emailVerificationLinkExpired",
        ]

        init() {}
    }

    /// A page of the older redirects, which an address may take the place of: the keys of the option `customPages`.
    public enum CustomPage: String, Sendable, CaseIterable {
        case choosePassword, invalidLink, invalidVerificationLink, expiredVerificationLink, invalidPasswordResetLink
        case linkSendSuccess, linkSendFail, verifyEmailSuccess, passwordResetSuccess
    }

    /// Addresses in place of the pages of the older redirects: the option `customPages`.
    public struct CustomPages: Sendable {
        /// The addresses.
        public var urls: [CustomPage: String] = [:]
        /// The page that opens links of mails inside itself; nil for none.
        public var parseFrameURL: String?

        init() {}
    }
}

extension Configuration.Pages {
    /// A path below the mount, without slashes at its ends.
    static func folder(_ endpoint: String) throws(ConfigurationError) -> String {
        let parts = endpoint.utf8.split(separator: UInt8(ascii: "/"))
        func isPlain(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || "-_.~".utf8.contains(byte) }
        guard !parts.isEmpty,
            parts.allSatisfy({ $0.allSatisfy(isPlain) && !$0.allSatisfy { $0 == UInt8(ascii: ".") } })
        else { throw .invalid("pages.pagesEndpoint", "a path such as apps") }
        return parts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    }

    /// Warnings about addresses of pages that have no effect: they must be whole ones, as in parse-server.
    var warnings: [String] {
        customUrls.sorted { $0.key < $1.key }.filter { !Self.isWhole($0.value) }.map { name, url in
            "option pages.customUrls.\(name) has no effect: \(url) is not a whole address, such as "
                + "https://example.com/page"
        }
    }

    /// The address that takes the place of a page; nil where there is none.
    public func customURL(_ name: String) -> String? {
        customUrls[Name(name)].flatMap { Self.isWhole($0) ? $0 : nil }
    }

    /// Whether an address begins with a scheme, as `https://example.com` and `myapp:done` do.
    private static func isWhole(_ url: String) -> Bool {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")), colon > url.startIndex else { return false }
        let scheme = url.utf8[..<colon]
        return scheme.allSatisfy { $0.isASCIIAlphanumeric || "+-.".utf8.contains($0) }
            && !scheme[scheme.startIndex].isASCIIDigit
    }
}
