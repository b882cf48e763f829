import JSON
import Testing

@testable import ServerConfiguration

@Suite("The option emailAdapter")
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

    @Test("parse-server's adapters that send by SMTP become that")
    func smtp() throws {
        let rows: [(String, JSONObject, Configuration.SMTP)] = [
            (
                "parse-smtp-template",
                ["host": "h", "port": "2525", "user": "u", "password": "p", "fromAddress": "a@b.c", "secure": true],
                .init(host: "h", port: 2525, isSecure: true, user: "u", password: "p")
            ),
            (
                "simple-parse-smtp-adapter",
                ["fromAddress": "a@b.c", "user": "u", "password": "p", "host": "h", "isSSL": true, "name": "me"],
                .init(host: "h", port: 465, isSecure: true, user: "u", password: "p", clientName: "me")
            ),
            (
                "simple-parse-smtp-adapter",
                ["fromAddress": "a@b.c", "user": "u", "password": "p", "service": "Gmail"],
                .init(host: "smtp.gmail.com", port: 587, isSecure: false, user: "u", password: "p")
            ),
            (
                "parse-mail-adapter-smtp-ejs",
                ["nodeMailerOptions": ["host": "h", "auth": ["user": "u", "pass": "p"]], "defaultFrom": "a@b.c"],
                .init(host: "h", port: 587, isSecure: false, user: "u", password: "p")
            ),
            (
                "@openinc/parse-server-smtp-adapter",
                ["from": "a@b.c", "host": "h", "port": 465, "secure": true, "auth": ["user": "u", "pass": "p"]],
                .init(host: "h", port: 465, isSecure: true, user: "u", password: "p")
            ),
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

    @Test("Options that other clients had are told, and have no effect")
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

    @Test("What cannot be served stops the start, and says what to write")
    func refusals() {
        let rows: [(String, JSONObject, String)] = [
            ("parse-server-api-mail-adapter", ["sender": "a@b.c"], #"{"module":"mailgun","options""#),
            ("parse-server-mailjet-adapter", [:], #"{"module":"http","options":{"from","url","headers","body"}}"#),
            ("my-mailgun-thing", [:], #"{"module":"mailgun","options":{"from","domain","apiKey"}}"#),
            ("./own-adapter.js", [:], #"{"module":"smtp""#),
            ("@parse/simple-mailgun-adapter", ["fromAddress": "a@b.c", "domain": "d"], "apiKey is missing"),
            (
                "mailgun", ["from": "a@b.c", "domain": "d", "apiKey": "k", "host": "h/evil?"],
                "host has an invalid value"
            ),
            ("mailgun", ["from": "a@b.c", "domain": "d", "apiKey": "k\r\nX: y"], "apiKey has an invalid value"),
            ("ses", ["from": "a@b.c", "accessKeyId": "k", "secretAccessKey": "s"], "region is missing"),
            (
                "ses", ["from": "a@b.c", "region": "x/y", "accessKeyId": "k", "secretAccessKey": "s"],
                "region has an invalid"
            ),
            ("http", ["from": "a@b.c", "url": "ftp://x", "body": "x"], "must be an address such as"),
            ("http", ["from": "a@b.c", "url": "https://x"], "body is missing"),
            (
                "http", ["from": "a@b.c", "url": "https://x", "body": [:], "headers": ["A": "b\nc"]],
                "headers.A has an invalid"
            ),
            ("smtp", ["host": "h", "from": "a@b.c", "userFields": ["_hashed_password"]], "no mail shows the column"),
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
                "templates of Jade"
            ),
            (
                "simple-parse-smtp-adapter", ["fromAddress": "a@b.c", "host": "h", "isTlsRejectUnauthorized": false],
                "trustedCertificates"
            ),
            ("parse-mail-adapter-smtp-ejs", ["templatesOptions": [:], "defaultFrom": "a@b.c"], "templates of EJS"),
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
