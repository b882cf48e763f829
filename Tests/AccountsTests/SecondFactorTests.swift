import Encoding
import Foundation
import JSON
import SignIn
import TestSupport
import Testing

/// Second factors: codes of an authenticator app, recovery codes and text messages.
@Suite struct SecondFactorTests {
    private static let secret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
    private static let options: JSONObject = ["auth": ["mfa": ["options": ["TOTP"], "digits": 6, "period": 30]]]

    /// The app's code for the current time step plus an offset.
    static func code(_ steps: Int = 0) throws -> String {
        let code = OneTimeCode(secret: try #require(Base32.decode(secret)))
        return code.code(step: Int(Date().timeIntervalSince1970) / 30 + steps)
    }

    /// Creates a user with a second factor.
    ///
    /// - Returns: The user and the recovery codes.
    private static func enrol(_ server: TestServer, _ name: String) async throws -> (
        user: (id: String, token: String), codes: [String]
    ) {
        let user = try await server.signUp(name)
        let answer = try await server.send(
            "PUT", "/users/\(user.id)",
            ["authData": ["mfa": ["secret": .string(secret), "token": .string(try code(-1))]]], as: .session(user.token)
        )
        let recovery = try #require(answer["authDataResponse"]?["mfa"]?["recovery"]?.stringValue, "\(answer.text)")
        return (user, recovery.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
    }

    private static func logIn(_ server: TestServer, _ name: String, _ token: JSONValue?) async throws -> TestAnswer {
        var body: JSONObject = ["username": .string(name), "password": "secret"]
        if let token { body["authData"] = ["mfa": ["token": token]] }
        return try await server.send("POST", "/login", .object(body))
    }

    @Test("Log-ins require an authenticator code, each code works once, and no response contains the secret")
    func codes() async throws {
        try await TestServer.run(Self.options) { server in
            let (user, codes) = try await Self.enrol(server, "kim")
            #expect(codes.count == 2 && codes.allSatisfy { $0.count == 30 })
            let missing = try await Self.logIn(server, "kim", nil)
            #expect(missing.code == -1 && missing.error == "Missing additional authData mfa", "\(missing.text)")
            for wrong: JSONValue in ["000000", 123456, ["$ne": ""], "", .null] {
                let answer = try await Self.logIn(server, "kim", wrong)
                #expect(answer.code == 141 && answer.error == "Invalid MFA token", "\(wrong): \(answer.text)")
            }
            // The code used for the setup can't be used again.
            #expect(try await Self.logIn(server, "kim", .string(try Self.code(-1))).code == 141)
            let good = try Self.code()
            let logged = try await Self.logIn(server, "kim", .string(good))
            #expect(logged.status == 200, "\(logged.text)")
            #expect(logged["authData"] == ["mfa": ["status": "enabled"]], "\(logged.text)")
            #expect(try await Self.logIn(server, "kim", .string(good)).code == 141)
            let me = try await server.send("GET", "/users/me", as: .session(user.token))
            #expect(me["authData"] == ["mfa": ["status": "enabled"]])
            #expect(!me.text.contains(Self.secret))
            let found = try await server.find("_User", as: .session(user.token))
            #expect(!found.text.contains(Self.secret))
            // Saving the status unchanged has no effect.
            let echo = try await server.send(
                "PUT", "/users/\(user.id)", ["authData": ["mfa": ["status": "enabled"]], "city": "Bonn"],
                as: .session(user.token))
            #expect(echo.status == 200, "\(echo.text)")
            #expect(try await Self.logIn(server, "kim", nil).code == -1)
            // Verifying a password requires no code, because it opens no session.
            let verified = try await server.send("POST", "/verifyPassword", ["username": "kim", "password": "secret"])
            #expect(verified.status == 200 && !verified.text.contains(Self.secret))
        }
    }

    @Test("A recovery code works for one log-in, even if used ten times concurrently")
    func recovery() async throws {
        try await TestServer.run(Self.options) { server in
            let (_, codes) = try await Self.enrol(server, "kim")
            #expect(try await Self.logIn(server, "kim", .string(codes[0])).status == 200)
            #expect(try await Self.logIn(server, "kim", .string(codes[0])).code == 141)
            try await server.execute("DELETE FROM \"_Session\"")
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<10 { group.addTask { try await Self.logIn(server, "kim", .string(codes[1])).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 200 }.count == 1, "\(statuses)")
            #expect(try await server.texts("SELECT count(*)::text FROM \"_Session\"") == ["1"])
        }
    }

    @Test("Wrong codes lock the account, and replacing the app requires a code from the old one")
    func guessing() async throws {
        try await TestServer.run(Self.options) { server in
            let (kim, _) = try await Self.enrol(server, "kim")
            let other = try await server.send(
                "PUT", "/users/\(kim.id)",
                [
                    "authData": [
                        "mfa": ["secret": .string(Self.secret), "token": .string(try Self.code(1)), "old": "000000"]
                    ]
                ],
                as: .session(kim.token))
            #expect(other.code == 141, "\(other.text)")
            for _ in 0..<9 { #expect(try await Self.logIn(server, "kim", "000000").code == 141) }
            let locked = try await Self.logIn(server, "kim", .string(try Self.code()))
            #expect(locked.code == 101 && locked.error?.hasPrefix("Your account is locked") == true, "\(locked.text)")
            let lost = try await server.send(
                "PUT", "/users/\(kim.id)", ["authData": ["mfa": .null]], as: .master)
            #expect(lost.status == 200, "\(lost.text)")
        }
    }

    @Test("A text-message code enrolls a phone or logs in once, and repeated requests send only one message")
    func messages() async throws {
        let answer: IdentityStandIn.Answer = { _ in .init("{}") }
        try await IdentityStandIn.run(answer) { standIn in
            let sender: JSONValue = [
                "url": "https://sms.example/send", "headers": ["Authorization": "Bearer k"],
                "body": #"{"to":"{{mobile}}","text":"Code: {{token}}"}"#,
            ]
            let auth: JSONValue = ["mfa": ["options": ["SMS"], "sendSMS": sender]]
            try await TestServer.run(standIn.options.merging(["auth": auth]) { $1 }) { server in
                func sent() throws -> String {
                    let body = try #require(standIn.requests.last?.body)
                    return try #require(body.split(separator: "Code: ").last?.prefix(6).description)
                }
                let user = try await server.signUp("kim")
                func put(_ data: JSONValue) async throws -> TestAnswer {
                    try await server.send(
                        "PUT", "/users/\(user.id)", ["authData": ["mfa": data]], as: .session(user.token))
                }
                #expect(try await put(["mobile": "call me"]).error == "Invalid mobile number.")
                #expect(try await put(["mobile": "+49 30 123"]).status == 200)
                #expect(standIn.requests.count == 1)
                // Until the number is verified, log-ins require no code.
                #expect(try await Self.logIn(server, "kim", nil).status == 200)
                #expect(try await put(["mobile": "+49 30 123", "token": "000"]).error == "Invalid MFA token")
                #expect(try await put(["mobile": "+49 30 999", "token": "1"]).error == "This number is not pending")
                #expect(try await put(["mobile": "+49 30 123", "token": .string(try sent())]).status == 200)
                #expect(try await Self.logIn(server, "kim", nil).code == -1)
                // Requests for a code never count as wrong codes.
                for _ in 0..<12 {
                    let asked = try await Self.logIn(server, "kim", "request")
                    #expect(asked.code == 141 && asked.error == "Please enter the token", "\(asked.text)")
                }
                #expect(standIn.requests.count == 2)
                #expect(try await Self.logIn(server, "kim", "12").error == "Invalid MFA token 1")
                let code = try sent()
                #expect(try await Self.logIn(server, "kim", .string(code)).status == 200)
                #expect(try await Self.logIn(server, "kim", .string(code)).error == "Invalid MFA token 1")
                #expect(try await put(["mobile": "+49 30 999"]).error == "MFA is already set up on this account")
            }
        }
    }
}
