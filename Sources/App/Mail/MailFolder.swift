import Encoding
import Mail
import Pages
import Platform
import ServerConfiguration

/// Writes all emails and pages with sample values to files.
package struct MailFolder {
    private let configuration: Configuration
    private let writer: MailWriter
    private let site: PageSite

    /// Reads the templates of a deployment.
    ///
    /// - Throws: `ConfigurationError` for invalid templates.
    package init(_ deployment: Deployment) throws {
        var configuration = deployment.configuration
        configuration.accountMail.appName = configuration.accountMail.appName ?? configuration.appId
        configuration.publicServerURL = configuration.publicServerURL ?? configuration.serverURL
        self.configuration = configuration
        writer = try MailWriter(configuration.accountMail.delivery ?? .onTerminal, configuration)
        site = try PageSite(configuration, styleAddress: "../\(PageSite.styleFile)")
    }

    /// Writes the files and an index of them. Returns the number of files.
    package func write(into folder: String) throws -> Int {
        var entries: [(title: String, paths: [String])] = []
        for (locale, mail) in writer.samples() {
            let path = "mails/\(locale)/\(mail.name)"
            var paths = ["\(path).txt"]
            try write("Subject: \(mail.subject)\n\n\(mail.text)", to: "\(folder)/\(path).txt")
            if let html = mail.html {
                paths.append("\(path).html")
                try write(html, to: "\(folder)/\(path).html")
            }
            entries.append(("\(mail.name), \(locale): \(mail.subject)", paths))
        }
        for locale in site.locales {
            for page in BuiltInPage.allCases {
                let path = "pages/\(locale)/\(page.fileName).html"
                guard let rendered = site.page("\(page.fileName).html", parameters(of: page, locale)) else { continue }
                try write(rendered.html, to: "\(folder)/\(path)")
                entries.append(("\(page.rawValue), \(locale)", [path]))
            }
            var refused = parameters(of: .passwordReset, locale)
            refused[.error] = "The passwords do not match"
            let path = "pages/\(locale)/password_reset_refused.html"
            if let rendered = site.page("password_reset.html", refused) {
                try write(rendered.html, to: "\(folder)/\(path)")
                entries.append(("passwordReset after a refusal, \(locale)", [path]))
            }
        }
        if let style = site.asset(PageSite.styleFile) {
            try write(String(decoding: style.bytes, as: UTF8.self), to: "\(folder)/pages/\(PageSite.styleFile)")
        }
        try write(index(entries), to: "\(folder)/index.html")
        return entries.map(\.paths.count).reduce(2, +)
    }

    private func parameters(of page: BuiltInPage, _ locale: String) -> PageParameters {
        var parameters = PageParameters([
            (.username, "kim"), (.appId, configuration.appId), (.appName, configuration.accountMail.appName),
            (.publicServerUrl, configuration.publicServerURL), (.locale, locale),
        ])
        if [.passwordReset, .emailVerificationLinkExpired].contains(page) {
            parameters[.token] = "ThisIsATokenOfAPreview000"
        }
        if page == .tooManyRequests { parameters[.error] = "Too many requests." }
        return parameters
    }

    private func index(_ entries: [(title: String, paths: [String])]) -> String {
        let items = entries.map { title, paths in
            let links = paths.map { path in
                let kind = path.utf8.split(separator: UInt8(ascii: ".")).last.map {
                    String(decoding: $0, as: UTF8.self)
                }
                return "<a href=\"\(PercentEncoding.encode(path, keepingSlashes: true))\">\(kind ?? "")</a>"
            }
            return "<li>\(HTMLEscaping.escape(title)) \(links.joined(separator: " "))</li>\n"
        }
        return """
            <!doctype html>
            <html lang="en">
            <head><meta charset="utf-8"><title>Emails and pages</title></head>
            <body>
            <h1>Emails and pages</h1>
            <ul>
            \(items.joined())</ul>
            </body>
            </html>

            """
    }

    private func write(_ text: String, to path: String) throws {
        let file = URL(fileURLWithPath: path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }
}
