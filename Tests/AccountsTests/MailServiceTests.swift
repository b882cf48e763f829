import Crypto
import Foundation
import JSON
import TestSupport
import Testing

/// Emails through HTTP APIs of mail services, which a local stand-in serves over TLS under their own names.
@Suite("Mail services over HTTP", .timeLimit(.minutes(10))) struct MailServiceTests {
    private typealias Request = IdentityStandIn.Request

    /// Lets a server send an email after a sign-up, and returns the service's requests until it accepts one.
    private static func requests(
        _ adapter: JSONValue, _ more: JSONObject = [:], email: String = "ann@m.example",
        _ answer: @escaping @Sendable (Request) -> IdentityStandIn.Reply = { _ in .init(["id": "1"]) }
    ) async throws -> [Request] {
        let reply: IdentityStandIn.Answer = { answer($0) }
        return try await IdentityStandIn.run(reply) { service in
            let options: JSONObject = [
                "appName": "Größe", "publicServerURL": "http://app.example/parse", "verifyUserEmails": true,
                "emailAdapter": adapter,
            ]
            let all = options.merging(service.options) { $1 }.merging(more) { $1 }
            return try await TestServer.run(all) { server in
                _ = try await server.signUp("ann", ["email": .string(email)])
                let isSent = try await eventually {
                    try await server.texts("SELECT id::text FROM _roost_mail WHERE due < 'infinity'").isEmpty
                }
                #expect(isSent)
                return service.requests
            }
        }
    }

    @Test("Emails to a slow domain use at most half of the slots, so emails to others are sent")
    func slowDomain() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let held = AsyncStream.makeStream(of: Void.self)
        let answer: IdentityStandIn.Answer = { request in
            if request.body.lowercased().contains("slow.example") {
                held.continuation.yield()
                for await _ in ends {}
            }
            return .init(["id": "1"])
        }
        try await IdentityStandIn.run(answer) { service in
            let options: JSONObject = [
                "appName": "Größe", "publicServerURL": "http://app.example/parse", "verifyUserEmails": true,
                "emailAdapter": [
                    "module": "mailgun",
                    "options": ["from": "a@m.example", "domain": "mg.m.example", "apiKey": "key-1"],
                ],
            ]
            try await TestServer.run(options.merging(service.options) { $1 }) { server in
                func signUp(_ names: [String], domain: String) async throws {
                    for name in names { _ = try await server.signUp(name, ["email": .string("\(name)@\(domain)")]) }
                }
                try await signUp((0..<12).map { "s\($0)" }, domain: "Slow.example")
                for await _ in held.stream.prefix(4) {}
                try await signUp((0..<6).map { "q\($0)" }, domain: "m.example")
                func waiting(_ pattern: String) async throws -> Int {
                    try await server.texts("SELECT id::text FROM _roost_mail WHERE content ->> 'to' LIKE '\(pattern)'")
                        .count
                }
                #expect(try await eventually { try await waiting("q%") == 0 })
                #expect(try await waiting("s%") == 12)
                end.finish()
                #expect(try await eventually { try await waiting("s%") == 0 })
            }
        }
    }

    private static func form(_ text: String) -> [String: String] {
        var fields: [String: String] = [:]
        for item in URLComponents(string: "http://h/?\(text)")?.queryItems ?? [] { fields[item.name] = item.value }
        return fields
    }

    @Test(
        "Sends emails through Mailgun with the given key and host, also with options of parse-server's adapters",
        arguments: [
            ("mailgun", "from", "api.eu.mailgun.net"), ("@parse/simple-mailgun-adapter", "fromAddress", ""),
            ("parse-server-mailgun", "fromAddress", "api.eu.mailgun.net"),
        ])
    func mailgun(module: String, from: Name, host: String) async throws {
        var options: JSONObject = ["domain": "mg.m.example", "apiKey": "key-1"]
        options[from] = "Music <a@m.example>"
        if !host.isEmpty { options["host"] = .string(host) }
        let requests = try await Self.requests(["module": .string(module), "options": .object(options)])
        let request = try #require(requests.first)
        #expect(requests.count == 1)
        #expect(request.host == (host.isEmpty ? "api.mailgun.net" : host))
        #expect(request.method == "POST" && request.path == "/v3/mg.m.example/messages")
        #expect(request.headers["authorization"] == "Basic \(Data("api:key-1".utf8).base64EncodedString())")
        let fields = Self.form(request.body)
        #expect(fields["from"] == "Music <a@m.example>")
        #expect(fields["to"] == "ann@m.example")
        #expect(fields["subject"] == "Please verify your e-mail for Größe")
        #expect(fields["text"]?.contains("http://app.example/parse/apps/testApp/verify_email?token=") == true)
    }

    @Test("Retries if the service is down, and keeps rejected emails with the reason but without the link")
    func retries() async throws {
        let adapter: JSONValue = [
            "module": "mailgun", "options": ["from": "a@m.example", "domain": "d.example", "apiKey": "k"],
        ]
        let busy: IdentityStandIn.Answer = { _ in .init("busy", status: 503) }
        try await IdentityStandIn.run(busy) { service in
            let options: JSONObject = [
                "appName": "App", "publicServerURL": "http://app.example/parse", "verifyUserEmails": true,
                "emailAdapter": adapter,
            ]
            try await TestServer.run(options.merging(service.options) { $1 }) { server in
                _ = try await server.signUp("ann", ["email": "ann@m.example"])
                let isPutOff = try await eventually {
                    try await server.texts("SELECT reason FROM _roost_mail") == ["the service responded with 503"]
                }
                #expect(isPutOff)
                service.setAnswer { _ in .init("no such inbox", status: 422) }
                let isGivenUp = try await eventually {
                    try await server.texts("SELECT reason FROM _roost_mail WHERE due = 'infinity'")
                        == ["the service responded with 422"]
                }
                #expect(isGivenUp)
                let kept = try await server.texts("SELECT content::text FROM _roost_mail").joined()
                #expect(kept.contains("ann@m.example") && !kept.contains("verify_email") && !kept.contains("token"))
                // Only the database owner can read the queue.
                let listed = try await server.send("GET", "/classes/_roost_mail", as: .master)
                #expect(!listed.text.contains("m.example") && !listed.text.contains("503"), "\(listed.text)")
                #expect(!(try await server.send("GET", "/schemas", as: .master)).text.contains("roost_mail"))
            }
        }
    }

    @Test("Sends MIME emails through Amazon SES with a valid signature")
    func amazon() async throws {
        let adapter: JSONValue = [
            "module": "ses",
            "options": [
                "from": "Größe <a@m.example>", "region": "eu-west-1", "accessKeyId": "AKIDEXAMPLE",
                "secretAccessKey": "secret/key+1", "sessionToken": "session",
                "templates": [
                    "verificationEmail": ["html": "<p>Hallo {{username}}: <a href=\"{{{link}}}\">Link</a></p>"]
                ],
            ],
        ]
        let requests = try await Self.requests(adapter)
        let request = try #require(requests.first)
        #expect(request.host == "email.eu-west-1.amazonaws.com" && request.path == "/v2/email/outbound-emails")
        let body = try JSONValue(parsing: Array(request.body.utf8))
        #expect(body["FromEmailAddress"] == "a@m.example")
        #expect(body["Destination"] == ["ToAddresses": ["ann@m.example"]])
        let raw = try #require(Data(base64Encoded: body["Content"]?["Raw"]?["Data"]?.stringValue ?? ""))
        let mail = String(decoding: raw, as: UTF8.self)
        #expect(mail.contains("multipart/alternative") && mail.contains("Content-Type: text/html; charset=utf-8"))
        // Verifies the signature by computing it like the service.
        let authorization = try #require(request.headers["authorization"])
        let names = try #require(authorization.split(separator: ", ").first { $0.hasPrefix("SignedHeaders=") })
            .dropFirst("SignedHeaders=".count)
        #expect(names == "content-type;host;x-amz-date;x-amz-security-token")
        let time = try #require(request.headers["x-amz-date"])
        let day = String(time.prefix(8))
        let fields = names.split(separator: ";").map { "\($0):\(request.headers[String($0)] ?? "")\n" }.joined()
        let canonical =
            "POST\n\(request.path)\n\n\(fields)\n\(names)\n\(Self.hexadecimal(SHA256.hash(data: Array(request.body.utf8))))"
        let scope = "\(day)/eu-west-1/ses/aws4_request"
        let text =
            "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(Self.hexadecimal(SHA256.hash(data: Array(canonical.utf8))))"
        var key = SymmetricKey(data: Array("AWS4secret/key+1".utf8))
        for part in [day, "eu-west-1", "ses", "aws4_request"] {
            key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Array(part.utf8), using: key))
        }
        let signature = Self.hexadecimal(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key))
        #expect(
            authorization
                == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/\(scope), SignedHeaders=\(names), Signature=\(signature)")
    }

    private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test("Sends the request that the http module's template describes, with escaped values")
    func other() async throws {
        let text =
            #"{"to":"{{to}}","from":"{{from}}","subject":"{{subject}}","text":"{{{text}}}"{{#html}},"html":"{{html}}"{{/html}},"#
            + #""tag":"{{username}}"}"#
        let object: JSONValue = [
            "to": [["email": "{{to}}"]], "subject": "{{subject}}", "text": "{{text}}", "html": "{{html}}",
            "template": 7, "data": ["link": "{{link}}", "plan": "{{plan}}"],
        ]
        for body in [JSONValue.string(text), object] {
            let adapter: JSONValue = [
                "module": "http",
                "options": [
                    "from": "Music \"One\" <a@m.example>", "url": "https://mails.example/v1/send?x=1",
                    "headers": ["Authorization": "Bearer t"], "body": body, "placeholders": ["plan": "\"gold\"\n"],
                    "templates": ["verificationEmail": ["subject": "A \"quoted\" \\ subject"]],
                ],
            ]
            let requests = try await Self.requests(adapter)
            let request = try #require(requests.first)
            #expect(request.host == "mails.example" && request.path == "/v1/send?x=1")
            #expect(request.headers["authorization"] == "Bearer t")
            #expect(request.headers["content-type"] == "application/json")
            let sent = try JSONValue(parsing: Array(request.body.utf8))
            #expect(sent["subject"] == "A \"quoted\" \\ subject")
            #expect(sent["text"]?.stringValue?.contains("verify_email?token=") == true)
            #expect(sent["html"] == nil)
            if body.objectValue != nil {
                #expect(sent["template"] == 7 && sent["to"] == [["email": "ann@m.example"]])
                #expect(sent["data"]?["plan"] == "\"gold\"\n")
                #expect(sent["data"]?["link"]?.stringValue?.hasPrefix("http://app.example/") == true)
            } else {
                #expect(sent["from"] == "\"Music \\\"One\\\"\" <a@m.example>" && sent["tag"] == "ann")
            }
        }
    }

    @Test("Accepts the options and texts of parse-server's mail adapters unchanged")
    func services() async throws {
        let rows: [(JSONObject, String, String, @Sendable (JSONValue, Request) -> Bool)] = [
            (
                ["module": "parse-server-sendgrid-adapter", "options": ["apiKey": "k", "fromAddress": "a@m.example"]],
                "api.sendgrid.com", "/v3/mail/send",
                {
                    $0["personalizations"] == [["to": [["email": "ann@m.example"]]]]
                        && $0["from"] == ["email": "a@m.example"]
                        && $0["content"]?.arrayValue?.count == 1 && $1.headers["authorization"] == "Bearer k"
                }
            ),
            (
                [
                    "module": "parse-server-sendgrid-email-adapter",
                    "options": ["apiKey": "k", "from": "a@m.example", "verificationEmailTemplate": "d-1"],
                ], "api.sendgrid.com", "/v3/mail/send",
                { body, _ in
                    body["template_id"] == "d-1" && body["content"] == nil
                        && body["personalizations"]?.arrayValue?[0]["dynamic_template_data"]?["email"]
                            == "ann@m.example"
                }
            ),
            (
                [
                    "module": "parse-server-postmark-adapter",
                    "options": [
                        "apiKey": "k", "fromEmail": "a@m.example", "displayName": "Music",
                        "verificationSubject": "Hello *|username|*", "verificationBody": "*|appname|*: *|link|*",
                    ],
                ], "api.postmarkapp.com", "/email",
                {
                    $0["From"] == "Music <a@m.example>" && $0["Subject"] == "Hello ann"
                        && $0["TextBody"]?.stringValue?.hasPrefix("Größe: http://app.example/") == true
                        && $0["HtmlBody"] == nil && $1.headers["x-postmark-server-token"] == "k"
                }
            ),
            (
                ["module": "parse-server-mandrill-adapter", "options": ["apiKey": "k", "fromEmail": "a@m.example"]],
                "mandrillapp.com", "/api/1.0/messages/send.json",
                { body, _ in body["key"] == "k" && body["message"]?["to"] == [["email": "ann@m.example"]] }
            ),
            (
                [
                    "module": "parse-server-simple-ses-adapter",
                    "options": [
                        "fromAddress": "a@m.example", "apiKey": "k", "apiSecret": "s", "domain": "d",
                        "amazon": "https://email.us-west-2.amazonaws.com",
                    ],
                ], "email.us-west-2.amazonaws.com", "/v2/email/outbound-emails",
                { $1.headers["authorization"]?.contains("/us-west-2/ses/aws4_request") == true && $0["Content"] != nil }
            ),
        ]
        for (adapter, host, path, holds) in rows {
            let requests = try await Self.requests(.object(adapter))
            let request = try #require(requests.first)
            #expect(request.host == host && request.path == path)
            let body = try JSONValue(parsing: Array(request.body.utf8))
            #expect(holds(body, request), "\(adapter["module"]?.text ?? ""): \(request.body) \(request.headers)")
        }
    }
}
