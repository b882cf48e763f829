import JSON
import ServerConfiguration
import Testing

@Suite("pages and customPages options")
struct PagesOptionTests {
    private func pages(_ options: JSONValue, preset: Double = 9) throws -> Configuration.Pages {
        try load(["pages": options, "preset": .number(preset)]).pages
    }

    @Test(
        "Preset 9 always uses the page router, earlier presets only with enableRouter",
        arguments: [
            (9, nil, true), (9, false, true), (8, nil, false), (8, true, true), (7, false, false), (4, true, true),
        ]
            as [(Double, Bool?, Bool)])
    func router(preset: Double, option: Bool?, isUsed: Bool) throws {
        let options: JSONObject = option.map { ["enableRouter": .bool($0)] } ?? [:]
        #expect(try pages(.object(options), preset: preset).enableRouter == isUsed)
    }

    @Test(
        "Trims slashes from pagesEndpoint, and uses apps if it is empty or the router is off",
        arguments: [
            ("acc", 9, "acc"), ("/acc/", 9, "acc"), ("my/acc", 9, "my/acc"), ("acc", 7, "apps"), ("", 9, "apps"),
        ] as [(String, Double, String)])
    func endpoint(given: String, preset: Double, used: String) throws {
        #expect(try pages(["pagesEndpoint": .string(given)], preset: preset).pagesEndpoint == used)
    }

    @Test(
        "Rejects a pagesEndpoint that isn't a plain path", arguments: ["..", "a/../b", "a b", "ä", "a?b", "/", "a%2fb"])
    func badEndpoint(given: String) {
        #expect(
            refusal(["pages": ["pagesEndpoint": .string(given)]])
                == "pages.pagesEndpoint must be a path such as apps")
    }

    @Test("Reads all keys and resolves relative paths against the configuration file's folder")
    func keys() throws {
        var configuration = try load([
            "pages": [
                "enableLocalization": true, "localizationJsonPath": "./texts.json", "localizationFallbackLocale": "de",
                "placeholders": ["team": "Blue"], "forceRedirect": true, "pagesPath": "pages",
                "customUrls": ["passwordReset": "https://w.example/x?y=1", "passwordResetSuccess": nil],
                "customRoutes": [], "encodePageParamHeaders": true,
            ],
            "customPages": [
                "invalidLink": "https://w.example/invalid", "linkSendFail": "", "parseFrameURL": "https://w.example/f",
            ],
        ])
        configuration.resolvePaths(in: "/folder")
        let pages = configuration.pages
        #expect(pages.enableLocalization && pages.forceRedirect && pages.encodePageParamHeaders)
        #expect(pages.localizationJsonPath == "/folder/./texts.json")
        #expect(pages.pagesPath == "/folder/pages")
        #expect(pages.localizationFallbackLocale == "de")
        #expect(pages.placeholders == ["team": "Blue"])
        #expect(pages.customUrls == ["passwordReset": "https://w.example/x?y=1"])
        #expect(pages.customURL("passwordReset") == "https://w.example/x?y=1")
        #expect(configuration.customPages.urls == [.invalidLink: "https://w.example/invalid"])
        #expect(configuration.customPages.parseFrameURL == "https://w.example/f")
    }

    @Test("Ignores relative custom URLs with a warning", arguments: ["/x", "./x", "x", ":x", "9x:y"])
    func relativeAddress(url: String) throws {
        let file = #"{"appId":"a","masterKey":"m","pages":{"customUrls":{"passwordReset":"\#(url)"}}}"#
        let (configuration, warnings) = try Configuration.load(file: Array(file.utf8), environment: [:], flags: [])
        #expect(configuration.pages.customURL("passwordReset") == nil)
        #expect(warnings.count == 1)
        #expect(warnings[0].hasPrefix("option pages.customUrls.passwordReset has no effect: \(url) is not"))
    }

    @Test("Rejects unknown keys, wrong types and customRoutes by name")
    func refusals() {
        let cases: [(JSONObject, String)] = [
            (["pages": ["nobody": 1]], "error: unknown option pages.nobody"),
            (["pages": ["enableRouter": "yes"]], "pages.enableRouter must be true or false"),
            (["pages": ["customUrls": ["nobody": "https://x"]]], "error: unknown option pages.customUrls.nobody"),
            (["pages": ["customUrls": ["passwordReset": 5]]], "pages.customUrls.passwordReset must be a string"),
            (["pages": ["customRoutes": [["path": "x"]]]], "option pages.customRoutes is not supported"),
            (["customPages": ["nobody": "https://x"]], "error: unknown option customPages.nobody"),
            (["customPages": ["invalidLink": 5]], "customPages.invalidLink must be a string"),
        ]
        for (options, text) in cases {
            #expect(refusal(options)?.hasPrefix(text) == true, "\(options)")
        }
    }
}
