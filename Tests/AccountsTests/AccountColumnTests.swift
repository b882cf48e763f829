import JSON
import TestSupport
import Testing

/// The columns of `_User` that parse-server uses for accounts.
@Suite(.timeLimit(.minutes(10))) struct AccountColumnTests {
    /// The columns with a value, by name. Dates are reported as whether they are in the future.
    private static func columns(_ server: TestServer, _ names: [String]) async throws -> [String: String] {
        var found: [String: String] = [:]
        for name in names {
            let value =
                name.hasSuffix("_at")
                ? "CASE WHEN \"\(name)\" > now() THEN 'later' ELSE 'before' END" : "\"\(name)\"::text"
            let rows = try await server.texts("SELECT \(value) FROM \"_User\" WHERE \"\(name)\" IS NOT NULL")
            if let text = rows.first { found[name] = text }
        }
        return found
    }

    private static let verification = ["_email_verify_token", "_email_verify_token_expires_at", "emailVerified"]
    private static let reset = ["_perishable_token", "_perishable_token_expires_at"]

    @Test("Stores a verification token for each new address, with an expiry if configured, until it is used")
    func verification() async throws {
        for ends in [false, true] {
            let options: JSONObject = ends ? ["emailVerifyTokenValidityDuration": 600] : [:]
            try await MailCatcher.serve(options.merging(["verifyUserEmails": true]) { $1 }) { server, catcher in
                let ann = try await server.signUp("ann")
                #expect(try await Self.columns(server, Self.verification) == [:])
                // Together with a new address, even the master key can't set `emailVerified` to true.
                for (number, email) in ["ann@m.example", "new@m.example"].enumerated() {
                    let body: JSONValue =
                        number == 0
                        ? ["email": .string(email)] : ["email": .string(email), "emailVerified": true]
                    let caller: TestServer.Identity = number == 0 ? .session(ann.token) : .master
                    _ = try await server.send("PUT", "/users/\(ann.id)", body, as: caller).succeeded()
                    let mail = try await catcher.mail(to: email)
                    var expected = ["_email_verify_token": mail.parameter("token") ?? "", "emailVerified": "false"]
                    if ends { expected["_email_verify_token_expires_at"] = "later" }
                    #expect(try await Self.columns(server, Self.verification) == expected)
                    #expect(mail.parameter("token")?.utf8.count == 25)
                }
                // The master key can verify an address directly. The link remains valid.
                _ = try await server.send("PUT", "/users/\(ann.id)", ["emailVerified": true], as: .master).succeeded()
                let kept = try await Self.columns(server, Self.verification)
                #expect(kept["emailVerified"] == "true" && kept["_email_verify_token"] != nil)
                let mail = try await catcher.mail(to: "new@m.example")
                #expect(try await server.open(mail.link).page == "email_verification_success")
                #expect(try await Self.columns(server, Self.verification) == ["emailVerified": "true"])
            }
        }
    }

    @Test("Stores a new reset token for each request, and removes it when a password or email address is saved")
    func reset() async throws {
        for ends in [false, true] {
            let options: JSONObject = ends ? ["passwordPolicy": ["resetTokenValidityDuration": 600]] : [:]
            try await MailCatcher.serve(options) { server, catcher in
                let ann = try await server.signUp("ann", ["email": "ann@m.example"])
                var token = ann.token
                var seen: Set<String> = []
                for body: JSONValue in [["password": "new"], ["email": "ann@m.example"], ["city": "Bonn"]] {
                    _ = try await server.send(
                        "POST", "/requestPasswordReset", ["email": "ann@m.example"]
                    ).succeeded()
                    // The response doesn't wait for the database, so it is the same for unknown users.
                    var asked = try await Self.columns(server, Self.reset)
                    let isNew = try await eventually {
                        asked = try await Self.columns(server, Self.reset)
                        return asked["_perishable_token"].map { !seen.contains($0) } ?? false
                    }
                    #expect(isNew)
                    #expect(asked["_perishable_token"]?.utf8.count == 25)
                    #expect(asked["_perishable_token_expires_at"] == (ends ? "later" : nil))
                    seen.insert(asked["_perishable_token"] ?? "")
                    let answer = try await server.send("PUT", "/users/\(ann.id)", body, as: .session(token))
                    token = answer["sessionToken"]?.stringValue ?? token
                    let left = try await Self.columns(server, Self.reset)
                    #expect(left == (body["city"] == nil ? [:] : asked), "\(body)")
                }
            }
        }
    }

    @Test("Stores password dates, previous hashes (oldest first) and failed log-ins only if options need them")
    func passwords() async throws {
        let names = ["_password_changed_at", "_password_history", "_failed_login_count", "_account_lockout_expires_at"]
        try await MailCatcher.serve([:]) { server, _ in
            let ann = try await server.signUp("ann")
            _ = try await server.send("PUT", "/users/\(ann.id)", ["password": "b"], as: .master).succeeded()
            _ = try await server.send("POST", "/login", ["username": "ann", "password": "wrong"])
            #expect(try await Self.columns(server, names) == [:])
        }
        let policy: JSONObject = [
            "passwordPolicy": ["maxPasswordAge": 30, "maxPasswordHistory": 3],
            "accountLockout": ["threshold": 2, "duration": 5],
        ]
        try await MailCatcher.serve(policy) { server, _ in
            func hash() async throws -> String { try await server.texts("SELECT _hashed_password FROM \"_User\"")[0] }
            let ann = try await server.signUp("ann", password: "a")
            #expect(try await Self.columns(server, names) == ["_password_changed_at": "before"])
            var hashes: [String] = []
            for password in ["b", "c", "d"] {
                hashes.append(try await hash())
                _ = try await server.send(
                    "PUT", "/users/\(ann.id)", ["password": .string(password)], as: .master
                ).succeeded()
                let history = try await Self.columns(server, names)["_password_history"] ?? ""
                let kept = try JSONValue(parsing: Array(history.utf8)).arrayValue?.compactMap(\.stringValue)
                #expect(kept == hashes.suffix(2))
            }
            for (password, columns) in [
                ("wrong", ["_failed_login_count": "1"]), ("d", ["_failed_login_count": "0"]),
                ("wrong", ["_failed_login_count": "1"]),
                ("wrong", ["_failed_login_count": "2", "_account_lockout_expires_at": "later"]),
            ] {
                _ = try await server.send("POST", "/login", ["username": "ann", "password": .string(password)])
                #expect(try await Self.columns(server, Array(names.suffix(2))) == columns, "\(password)")
            }
        }
    }
}
