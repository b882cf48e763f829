import Foundation
import JSON
import TestSupport
import Testing

/// Attempts to bypass the protection of accounts.
@Suite(.timeLimit(.minutes(10))) struct AccountAttackTests {
    private static let invalid = "Invalid username/password."

    private static func error(_ server: TestServer, _ body: JSONObject, _ path: String = "/login") async throws
        -> String
    {
        let answer = try await server.send("POST", path, .object(body.merging(["password": "wrong"]) { $1 }))
        return answer.error?.hasPrefix("Your account is locked") == true ? "locked" : answer.error ?? answer.text
    }

    @Test("Account lockout covers every spelling of a name on every route, and treats unknown accounts alike")
    func lockout() async throws {
        let lockout: JSONObject = ["accountLockout": ["threshold": 3, "duration": 5]]
        let lenient = lockout.merging(["caseInsensitiveLogin": true]) { $1 }
        for (options, others) in [(lockout, []), (lenient, ["KIM@M.example", "Kim@m.example"])] {
            try await TestServer.run(options) { server in
                _ = try await server.signUp("kim@m.example", ["email": "kim@m.example"])
                // The results are the same for existing and unknown accounts.
                for name in ["kim@m.example", "nobody@m.example"] {
                    func spelled(_ other: String) -> JSONValue {
                        .string(
                            name.hasPrefix("kim")
                                ? other
                                : other.replacing("@", with: "ody@").replacing("kim", with: "nob").replacing(
                                    "KIM", with: "NOB"
                                ).replacing("Kim", with: "Nob"))
                    }
                    for body: JSONObject in [
                        ["username": .string(name)], ["email": .string(name)], ["username": .string(name)],
                    ] {
                        #expect(try await Self.error(server, body) == Self.invalid, "\(name)")
                    }
                    for path in ["/login", "/verifyPassword"] {
                        #expect(try await Self.error(server, ["username": .string(name)], path) == "locked", "\(name)")
                        #expect(try await Self.error(server, ["email": .string(name)], path) == "locked", "\(name)")
                    }
                    for other in others {
                        #expect(
                            try await Self.error(server, ["username": spelled(other)]) == "locked", "\(name) \(other)")
                    }
                    // Names that are not alternative spellings are counted separately.
                    for other in ["\(name) ", " \(name)", "\(name)\u{200B}"] {
                        #expect(try await Self.error(server, ["username": .string(other)]) == Self.invalid)
                    }
                }
                #expect(
                    try await server.texts("SELECT \"_failed_login_count\"::text FROM \"_User\"") == ["3"])
            }
        }
    }

    @Test("A rate limit on log-ins can't be bypassed by path spelling, method, forwarded address or batch")
    func limits() async throws {
        let limit: JSONValue = [
            "requestPath": "/login", "requestTimeWindow": 3_600_000, "requestCount": 2, "includeInternalRequests": true,
        ]
        try await TestServer.run(["rateLimit": limit, "trustProxy": false]) { server in
            let body: JSONObject = ["username": "kim", "password": "wrong"]
            let origin = server.url.replacing("/parse", with: "")
            for _ in 0..<2 { #expect(try await server.send("POST", "/login", .object(body)).code == 101) }
            let call: JSONValue = ["method": "POST", "path": "/parse/login", "body": .object(body)]
            var answers = [
                try await server.send("GET", "/login?username=kim&password=wrong"),
                try await server.send("POST", "/login", .object(body.merging(["_method": "GET"]) { $1 })),
                try await server.send("POST", "/login", .object(body.merging(["_method": "PUT"]) { $1 })),
                try await server.send(
                    "POST", "/login", .object(body), headers: ["X-HTTP-Method-Override": "DELETE"]),
                try await server.send("POST", "/login", .object(body), headers: ["X-Forwarded-For": "203.0.113.5"]),
                try await server.send("POST", "/batch", ["requests": [call]]),
            ]
            for path in [
                "/LOGIN", "/login/", "//login", "/login//", "/%6cogin", "/lo%67in/?x=/classes", "/login?requestPath=/x",
            ] {
                answers.append(try await server.send("POST", path, .object(body)))
            }
            for path in [
                "/PARSE/login", "//parse//login", "/parse/./login", "/parse/classes/../login", "/parse/login%2F",
            ] {
                let answer = try await server.send("POST", origin + path, .object(body))
                // An unknown path grants no access either.
                #expect([429, 404, 403].contains(answer.status), "\(path): \(answer.status) \(answer.text)")
            }
            for answer in answers { #expect(answer.status == 429, "\(answer.status) \(answer.text)") }
        }
    }

    @Test("Links in emails, redirects and pages ignore the host in request header fields")
    func hosts() async throws {
        try await MailCatcher.serve(["verifyUserEmails": true, "trustProxy": true]) { server, catcher in
            let headers = [
                "Host": "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https",
                "Forwarded": "host=evil.example", "Origin": "https://evil.example",
                "Referer": "https://evil.example/",
            ]
            _ = try await server.send(
                "POST", "/users", ["username": "ann", "password": "p", "email": "ann@m.example"], headers: headers
            ).succeeded()
            _ = try await server.send(
                "POST", "/requestPasswordReset", ["email": "ann@m.example"], headers: headers
            ).succeeded()
            for number in [1, 2] {
                let mail = try await catcher.mail(to: "ann@m.example", number: number)
                #expect(mail.link.hasPrefix("http://app.example/parse/apps/"))
                #expect(!mail.raw.contains("evil"))
            }
            let form = try await server.form(TestServer.resetPath, "token=x", headers)
            #expect(form.location.hasPrefix("http://app.example/parse/apps/"))
            let page = try await server.send(
                "GET", "/apps/choose_password?appId=\(TestServer.applicationID)&token=t", as: .nobody,
                headers: headers)
            #expect(page.page == "password_reset" && !page.text.contains("evil"))
        }
    }

    @Test("Query parameters of pages can't inject header fields, redirects or markup")
    func parameters() async throws {
        try await MailCatcher.run { catcher in
            for options: JSONObject in [
                [:], ["pages": ["encodePageParamHeaders": true]], ["pages": ["enableLocalization": true]],
                ["preset": 7], ["preset": 7, "customPages": ["invalidLink": "https://w.example/i?x=1"]],
                ["pages": ["customUrls": ["passwordResetLinkInvalid": "https://w.example/i"]]],
            ] {
                try await TestServer.run(catcher.options(options)) { server in
                    let app = TestServer.applicationID
                    let evil = "%0d%0aSet-Cookie:%20a=b%0d%0a%0d%0a%3Cscript%3Ealert(1)%3C/script%3E"
                    for name in ["token", "username", "locale", "error", "appName", "appId", "id", "publicServerUrl"] {
                        for path in [
                            "/apps/\(app)/request_password_reset", "/apps/\(app)/verify_email", "/apps/choose_password",
                            "/apps/password_reset.html", "/apps/invalid_link.html",
                        ] {
                            let query = "\(name)=\(evil)&id=\(app)&appId=\(app)&token=t&username=u"
                            for answer in [
                                try await server.open("\(path)?\(query)"), try await server.form(path, query),
                            ] {
                                #expect(answer.headers["set-cookie"] == nil, "\(path) \(name)")
                                #expect(!answer.text.contains("<script"), "\(path) \(name): \(answer.text)")
                                #expect(answer.status < 500, "\(path) \(name)")
                                let place = answer.location
                                let isOurs =
                                    place.isEmpty || place.hasPrefix("http://app.example/parse/")
                                    || place.hasPrefix("https://w.example/i?")
                                #expect(isOurs && !place.contains("\r"), "\(place)")
                            }
                        }
                    }
                    for path in [
                        "//evil.example/%2f..", "/apps//evil.example", "/apps/%2f%2fevil.example/", "/apps/\\evil",
                    ] {
                        let answer = try await server.open(path)
                        #expect(!answer.location.contains("evil") && (400..<500).contains(answer.status), "\(path)")
                    }
                }
            }
        }
    }

    @Test("Links sent before an address change neither verify the new address nor reset the password")
    func changedAddress() async throws {
        try await MailCatcher.serve(["verifyUserEmails": true]) { server, catcher in
            let ann = try await server.signUp("ann", ["email": "ann@m.example"])
            let first = try await catcher.mail(to: "ann@m.example")
            _ = try await server.send("POST", "/requestPasswordReset", ["email": "ann@m.example"]).succeeded()
            let reset = try await catcher.mail(to: "ann@m.example", number: 2)
            _ = try await server.send(
                "PUT", "/users/\(ann.id)", ["email": "victim@m.example"], as: .session(ann.token)
            ).succeeded()
            #expect(try await server.open(first.link).page == "email_verification_link_invalid")
            #expect(try await server.user(ann.id)["emailVerified"] == false)
            let token = try #require(reset.parameter("token"))
            let form = try await server.form(TestServer.resetPath, "token=\(token)&new_password=stolen")
            #expect(form.headers["x-parse-page-param-error"]?.hasPrefix("Failed to reset password") == true)
            // Verification links and concurrent address changes: in no order does a link verify another address.
            for round in 0..<3 {
                let old = "old\(round)@m.example"
                let new = "new\(round)@m.example"
                _ = try await server.send(
                    "PUT", "/users/\(ann.id)", ["email": .string(old)], as: .master
                ).succeeded()
                let link = try await catcher.mail(to: old).link
                _ = try await concurrently(6) { number in
                    number % 2 == 0
                        ? try await server.open(link)
                        : try await server.send(
                            "PUT", "/users/\(ann.id)", ["email": .string(new)], as: .session(ann.token))
                }
                let user = try await server.user(ann.id)
                #expect(user["email"] == .string(new) && user["emailVerified"] == false, "\(user)")
            }
        }
    }

    @Test("Crafted addresses can't add recipients or header fields, and long names give valid header lines")
    func recipients() async throws {
        try await MailCatcher.serve(["verifyUserEmails": true]) { server, catcher in
            let addresses = [
                "a@b.example, victim@m.example", "a@b.example;victim@m.example", "<victim@m.example>a@b.example",
                "a@b.example> NOTIFY=SUCCESS ORCPT=rfc822;victim@m.example", "a@b.example\u{2028}victim@m.example",
                "a@b.example\u{85}Bcc: victim@m.example", "a@b.example\tvictim@m.example",
                "=?utf-8?Q?victim=40m.example?= <a@b.example>", "a@" + String(repeating: "b", count: 400),
            ]
            for (number, address) in addresses.enumerated() {
                let answer = try await server.send(
                    "POST", "/users",
                    ["username": .string("u\(number)"), "password": "p", "email": .string(address)])
                #expect(answer.status == 201 || answer.code == 125, "\(address): \(answer.text)")
            }
            let isDone = try await eventually {
                try await server.texts("SELECT id::text FROM _roost_mail WHERE reason IS NULL").isEmpty
            }
            #expect(isDone)
            for mail in try catcher.mails() {
                #expect(!mail.recipients.contains { $0.contains("victim@m.example") }, "\(mail.recipients)")
                #expect(mail.recipients.count == 1)
                let head = mail.raw.components(separatedBy: "\r\n\r\n")[0]
                #expect(!head.contains("victim"), "\(head)")
            }
            // Names of any length and characters lead to valid header lines of limited length.
            let name = String(repeating: "Ärger\u{202E}\u{2029}=?utf-8?B?", count: 300)
            let answer = try await server.send(
                "POST", "/users", ["username": .string(name), "password": "p", "email": "long@m.example"])
            if answer.status == 201 {
                let mail = try await catcher.mail(to: "long@m.example")
                #expect(mail.raw.components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 998 })
                #expect(mail.raw.utf8.allSatisfy { $0 < 0x80 })
            }
        }
    }

    @Test("Resending a verification link takes the same time for known and unknown user names")
    func resendTiming() async throws {
        try await MailCatcher.serve(["verifyUserEmails": true]) { server, catcher in
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            let path = "/apps/\(TestServer.applicationID)/resend_verification_email"
            let isLevel = try await LevelTimes.hold(pairs: 12, lanes: 1) { isFirst, _ in
                _ = try await server.form(path, "username=\(isFirst ? "ann" : "nobody")")
            }
            #expect(isLevel)
        }
    }
}
