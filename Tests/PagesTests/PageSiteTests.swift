import JSON
import Pages
import ServerConfiguration
import Testing

@Suite("Account pages")
struct PageSiteTests {
    private static func site(_ options: JSONObject = [:]) throws -> PageSite {
        var values: JSONObject = [
            "appId": "app", "masterKey": "m", "appName": "My <App>", "publicServerURL": "https://h/parse",
        ]
        values["pages"] = .object(options)
        return try PageSite(
            try Configuration.load(file: JSONValue.object(values).serialized(), environment: [:], flags: [])
                .configuration)
    }

    @Test(
        "Every built-in page has its name in a meta tag, and uses no scripts or other hosts",
        arguments: BuiltInPage.allCases)
    func builtIn(page: BuiltInPage) throws {
        let parameters = PageParameters([(.appName, "My <App>"), (.token, "t"), (.username, "u")])
        let shown = try #require(try Self.site().page(page.fileName + ".html", parameters))
        #expect(shown.html.contains("<meta name=\"page\" content=\"\(page.fileName)\">"))
        #expect(shown.html.contains("My &lt;App&gt;"))
        #expect(!shown.html.contains("<script"))
        #expect(shown.securityPolicy.contains("default-src 'none'"))
    }

    @Test("Escapes request parameters in a page")
    func escaping() throws {
        let evil = "\"><script>alert(1)</script>'`=\u{301}"
        let parameters = PageParameters([(.token, evil), (.username, evil), (.error, evil)])
        let page = try #require(try Self.site().page("password_reset.html", parameters))
        #expect(!page.html.contains("<script"))
        #expect(!page.html.contains("value=\"\">"))
    }

    @Test("Serves German pages, falls back to English, and ignores paths outside its folder")
    func languages() throws {
        let site = try Self.site(["enableLocalization": true])
        func html(_ locale: String) throws -> String {
            try #require(site.page("password_reset_success.html", PageParameters([(.locale, locale)]))).html
        }
        #expect(try html("de-AT").contains("lang=\"de\""))
        #expect(try html("fr").contains("lang=\"en\""))
        #expect(PageSite.locale("../../etc") == nil)
        #expect(site.page("../../etc/passwd", PageParameters()) == nil)
        #expect(site.asset("../style.css") == nil)
        #expect(site.asset("style.css") != nil)
    }

    @Test("A page's URL contains its parameters and its locale")
    func addresses() throws {
        let site = try Self.site(["enableLocalization": true])
        let parameters = PageParameters([(.appName, "a b"), (.locale, "de-AT")])
        #expect(
            site.address(of: .emailVerificationSendFail, parameters)
                == "https://h/parse/apps/de-AT/email_verification_send_fail.html?appName=a+b&locale=de-AT")
    }
}
