import Foundation
import JSON
import ServerConfiguration
import Testing

@Suite("emailAdapter option")
struct MailAdapterTests {
    private static func load(_ module: String, _ options: JSONObject) throws -> (Configuration.MailDelivery?, [String])
    {
        let values: JSONObject = [
            "appId": "a", "masterKey": "m", "emailAdapter": ["module": .string(module), "options": .object(options)],
        ]
        let (configuration, warnings) = try Configuration.load(
            file: values.serialized(), environment: [:], flags: [])
        return (configuration.accountMail.delivery, warnings)
    }

    /// The log-in of the user `u` with tokens from a token endpoint.
    private static func refreshed(_ url: String, secret: String?) -> Configuration.SMTPLogin {
        .token(
            user: "u",
            token: .refreshed(.init(url: url, clientId: "c", clientSecret: secret, refreshToken: "r")))
    }

    @Test("Maps the options of parse-server's SMTP adapters to SMTP settings")
    func smtp() throws {
        let rows: [(String, JSONObject, Configuration.SMTP)] = [
            (
                "parse-smtp-template",
                ["host": "h", "port": "2525", "user": "u", "password": "p", "fromAddress": "a@b.c", "secure": true],
                .init(host: "h", port: 2525, isSecure: true, login: .password(user: "u", password: "p"))
            ),
            (
                "simple-parse-smtp-adapter",
                ["fromAddress": "a@b.c", "user": "u", "password": "p", "host": "h", "isSSL": true, "name": "me"],
                .init(
                    host: "h", port: 465, isSecure: true, login: .password(user: "u", password: "p"), clientName: "me")
            ),
            (
                "simple-parse-smtp-adapter",
                ["fromAddress": "a@b.c", "user": "u", "password": "p", "service": "Gmail"],
                .init(host: "smtp.gmail.com", port: 587, isSecure: false, login: .password(user: "u", password: "p"))
            ),
            (
                "parse-mail-adapter-smtp-ejs",
                ["nodeMailerOptions": ["host": "h", "auth": ["user": "u", "pass": "p"]], "defaultFrom": "a@b.c"],
                .init(host: "h", port: 587, isSecure: false, login: .password(user: "u", password: "p"))
            ),
            (
                "@openinc/parse-server-smtp-adapter",
                ["from": "a@b.c", "host": "h", "port": 465, "secure": true, "auth": ["user": "u", "pass": "p"]],
                .init(host: "h", port: 465, isSecure: true, login: .password(user: "u", password: "p"))
            ),
            (
                "@openinc/parse-server-smtp-adapter",
                ["from": "a@b.c", "service": "Gmail", "auth": ["type": "oauth2", "user": "u", "accessToken": "t"]],
                .init(
                    host: "smtp.gmail.com", port: 587, isSecure: false, login: .token(user: "u", token: .fixed("t")))
            ),
            (
                "parse-mail-adapter-smtp-ejs",
                [
                    "nodeMailerOptions": [
                        "host": "h", "name": "me",
                        "auth": [
                            "type": "OAuth2", "user": "u", "clientId": "c", "clientSecret": "s", "refreshToken": "r",
                            "accessToken": "old", "expires": 1,
                        ],
                    ],
                    "defaultFrom": "a@b.c",
                ],
                .init(
                    host: "h", port: 587, isSecure: false,
                    login: Self.refreshed("https://oauth2.googleapis.com/token", secret: "s"), clientName: "me")
            ),
            (
                "smtp",
                [
                    "from": "a@b.c", "host": "h",
                    "auth": [
                        "type": "OAuth2", "user": "u", "clientId": "c", "refreshToken": "r",
                        "accessUrl": "https://login.example/token",
                    ],
                ],
                .init(
                    host: "h", port: 587, isSecure: false,
                    login: Self.refreshed("https://login.example/token", secret: nil))
            ),
            ("smtp", ["from": "a@b.c", "host": "h"], .init(host: "h", port: 587, isSecure: false)),
        ]
        for (module, options, expected) in rows {
            let (delivery, warnings) = try Self.load(module, options)
            guard case .smtp(let server)? = delivery?.transport else {
                Issue.record("\(module) is not SMTP")
                continue
            }
            #expect(server == expected, "\(module)")
            #expect(warnings.isEmpty)
            #expect(delivery?.sender == "a@b.c")
        }
    }

    @Test("Warns about adapter options that have no effect")
    func unknownOptions() throws {
        let (delivery, warnings) = try Self.load(
            "@parse/simple-mailgun-adapter",
            ["fromAddress": "a@b.c", "domain": "d", "apiKey": "k", "host": "https://api.eu.mailgun.net/", "timeout": 9])
        guard case .mailgun(let account)? = delivery?.transport else {
            Issue.record("not Mailgun")
            return
        }
        #expect(account.host == "api.eu.mailgun.net")
        #expect(warnings == ["option emailAdapter.options.timeout has no effect"])
    }

    @Test(
        "Warns about nested adapter options that have no effect",
        arguments: [
            (
                "parse-mail-adapter-smtp-ejs",
                [
                    "defaultFrom": "a@b.c",
                    "nodeMailerOptions": [
                        "host": "h", "pool": true, "tls": ["minVersion": "x"], "auth": ["method": "x"],
                    ],
                ], ["nodeMailerOptions.auth.method", "nodeMailerOptions.pool", "nodeMailerOptions.tls.minVersion"]
            ),
            (
                "parse-server-mailgun",
                [
                    "fromAddress": "a@b.c", "domain": "d", "apiKey": "k", "url": "https://api.eu.mailgun.net",
                    "templates": [
                        "own": ["subject": "x"], "passwordResetEmail": ["pathPlainText": "x", "pathHTML": "y"],
                    ],
                ], ["templates.own", "templates.passwordResetEmail.pathHTML"]
            ),
            (
                "parse-smtp-template",
                [
                    "fromAddress": "a@b.c", "host": "h", "templatePath": "x", "confirmTemplatePath": "x",
                    "multiLangPass": [:],
                ], ["confirmTemplatePath", "multiLangPass", "templatePath"]
            ),
            (
                "parse-server-simple-ses-adapter",
                ["fromAddress": "a@b.c", "apiKey": "k", "apiSecret": "s", "domain": "d", "format": "text"],
                ["domain", "format"]
            ),
        ] as [(String, JSONObject, [String])])
    func unknownMembers(module: String, options: JSONObject, unknown: [String]) throws {
        let (_, warnings) = try Self.load(module, options)
        #expect(warnings.sorted() == unknown.map { "option emailAdapter.options.\($0) has no effect" })
    }

    @Test("Warns about keys next to the adapter's options")
    func besideOptions() throws {
        let adapter: JSONValue = ["module": "smtp", "host": "x", "options": ["host": "h", "from": "a@b.c"]]
        let values: JSONObject = ["appId": "a", "masterKey": "m", "emailAdapter": adapter]
        let (_, warnings) = try Configuration.load(file: values.serialized(), environment: [:], flags: [])
        #expect(warnings == ["option emailAdapter.host has no effect"])
    }

    @Test("Rejects incomplete credentials and unsupported ways to get tokens")
    func logins() {
        func token(_ options: JSONObject) -> JSONObject {
            ["auth": .object(options.merging(["type": "OAuth2", "user": "u"]) { given, _ in given })]
        }
        let rows: [(JSONObject, String)] = [
            (["user": "u"], "options.password is missing"), (["password": "p"], "options.user is missing"),
            (["auth": ["user": "u"]], "options.auth.pass is missing"),
            (["auth": "x"], "options.auth must be an object"),
            (
                ["auth": ["user": "u", "pass": "p", "method": "PLAIN"]],
                "unknown option emailAdapter.options.auth.method"
            ),
            (["user": "u", "password": "p", "auth": ["user": "u", "pass": "p"]], "can't be combined"),
            (["auth": ["type": "custom", "user": "u"]], "custom is unknown"),
            (["auth": ["type": "OAuth2", "accessToken": "t"]], "options.auth.user is missing"),
            (token([:]), "options.auth.accessToken of smtp: it is required"),
            (token(["accessToken": "t\u{1}auth=x"]), "options.auth.accessToken must be a non-empty string"),
            (token(["accessToken": "t", "clientId": "c"]), "options.auth.clientId of smtp: a refreshToken"),
            (token(["accessUrl": "https://x"]), "a refreshToken is required"),
            (token(["refreshToken": "r"]), "options.auth.clientId is missing"),
            (token(["refreshToken": "r", "clientId": "c", "accessUrl": "http://x"]), "must begin with https://"),
            (
                token(["serviceClient": "1", "privateKey": "k"]),
                "options.auth.serviceClient of smtp: service-account tokens"
            ),
            (token(["provisionCallback": "f"]), "JavaScript function"),
            (token(["customParams": ["a": "b"]]), "options.auth.customParams"),
        ]
        for (options, text) in rows {
            do {
                _ = try Self.load("smtp", options.merging(["host": "h", "from": "a@b.c"]) { $1 })
                Issue.record("\(options) must be refused")
            } catch {
                let message = (error as? ConfigurationError)?.message ?? "\(error)"
                #expect(message.contains(text), "\(message)")
            }
        }
    }

    @Test("Rejects a package that isn't installed for Node.js and suggests the most similar service")
    func packages() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-mail-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for path in ["node_modules/installed", "node_modules/@own/mail", "app/src"] {
            try FileManager.default.createDirectory(atPath: "\(folder)/\(path)", withIntermediateDirectories: true)
        }
        let rows: [(String, String?)] = [
            ("installed", nil), ("@own/mail", nil), ("./own.js", nil),
            ("parse-server-mailjet-adapter", #"{"module":"http","options":{"from","url","headers","body"}}"#),
            ("my-mailgun-thing", #"{"module":"mailgun","options":{"from","domain","apiKey"}}"#),
            ("own-adapter", #"{"module":"smtp""#),
        ]
        for (module, text) in rows {
            let delivery = try #require(try Self.load(module, [:]).0)
            var message: String?
            do throws(ConfigurationError) {
                try delivery.checkPackage(in: ["\(folder)/app/src"])
            } catch {
                message = error.message
            }
            #expect(text.map { message?.contains($0) == true } ?? (message == nil), "\(module): \(message ?? "")")
        }
    }

    @Test("Rejects invalid and unsupported adapter options and says what to change")
    func refusals() {
        let rows: [(String, JSONObject, String)] = [
            ("parse-server-api-mail-adapter", ["sender": "a@b.c"], #"{"module":"mailgun","options""#),
            ("@parse/simple-mailgun-adapter", ["fromAddress": "a@b.c", "domain": "d"], "apiKey is missing"),
            (
                "mailgun", ["from": "a@b.c", "domain": "d", "apiKey": "k", "host": "h/evil?"],
                "host must be a host name"
            ),
            (
                "mailgun", ["from": "a@b.c", "domain": "d", "apiKey": "k", "url": "http://h"],
                "url must be a URL such as https://api.eu.mailgun.net"
            ),
            ("mailgun", ["from": "a@b.c", "domain": "d", "apiKey": "k\r\nX: y"], "apiKey must be a non-empty string"),
            ("ses", ["from": "a@b.c", "accessKeyId": "k", "secretAccessKey": "s"], "region is missing"),
            (
                "ses", ["from": "a@b.c", "region": "x/y", "accessKeyId": "k", "secretAccessKey": "s"],
                "region must be a region such as eu-west-1"
            ),
            ("http", ["from": "a@b.c", "url": "ftp://x", "body": "x"], "must be a URL such as"),
            ("http", ["from": "a@b.c", "url": "https://x"], "body is missing"),
            (
                "http", ["from": "a@b.c", "url": "https://x", "body": [:], "headers": ["A": "b\nc"]],
                "headers.A must have a valid header name"
            ),
            ("smtp", ["host": "h", "from": "a@b.c", "userFields": ["_hashed_password"]], "can't contain the field"),
            (
                "smtp", ["host": "h", "from": "a@b.c", "templates": ["resetEmail": [:]]],
                "unknown option emailAdapter.options.templates.resetEmail"
            ),
            (
                "smtp", ["host": "h", "from": "a@b.c", "templates": ["passwordResetEmail": ["localeCallback": "f"]]],
                "is a JavaScript function"
            ),
            (
                "simple-parse-smtp-adapter", ["fromAddress": "a@b.c", "host": "h", "templates": [:]],
                "Jade templates"
            ),
            (
                "simple-parse-smtp-adapter", ["fromAddress": "a@b.c", "host": "h", "isTlsRejectUnauthorized": false],
                "trustedCertificates"
            ),
            ("parse-mail-adapter-smtp-ejs", ["templatesOptions": [:], "defaultFrom": "a@b.c"], "EJS templates"),
            (
                "parse-server-postmark-adapter", ["apiKey": "k", "fromEmail": "a@b.c", "passwordResetTemplateId": 1],
                "withTemplate"
            ),
            (
                "parse-server-mailgun",
                [
                    "fromAddress": "a@b.c", "domain": "d", "apiKey": "k",
                    "templates": ["passwordResetEmail": ["pathPlainText": "x", "callback": true]],
                ], "userFields"
            ),
        ]
        for (module, options, text) in rows {
            do {
                _ = try Self.load(module, options)
                Issue.record("\(module) \(options) must be refused")
            } catch {
                let message = (error as? ConfigurationError)?.message ?? "\(error)"
                #expect(message.contains(text), "\(module): \(message)")
            }
        }
    }
}
