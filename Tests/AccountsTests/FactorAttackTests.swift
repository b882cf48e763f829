import Encoding
import Foundation
import JSON
import SignIn
import TestSupport
import Testing

/// Attempts to bypass second factors.
@Suite(.timeLimit(.minutes(10))) struct FactorAttackTests {
    private static let secret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"

    private static func run(
        _ kinds: JSONValue, _ more: JSONObject = [:],
        _ body: @escaping @Sendable (TestServer, IdentityStandIn) async throws -> Void
    ) async throws {
        let answer: IdentityStandIn.Answer = { _ in .init("{}") }
        try await IdentityStandIn.run(answer) { standIn in
            let sender: JSONValue = ["url": "https://sms.example/send", "body": "{{mobile}} {{token}}"]
            let auth: JSONValue = ["mfa": ["options": kinds, "sendSMS": sender]]
            let options = standIn.options.merging(["auth": auth]) { $1 }.merging(more) { $1 }
            try await TestServer.run(options) { try await body($0, standIn) }
        }
    }

    private static func put(_ server: TestServer, _ user: (id: String, token: String), _ data: JSONValue) async throws
        -> TestAnswer
    {
        try await server.send("PUT", "/users/\(user.id)", ["authData": ["mfa": data]], as: .session(user.token))
    }

    private static func sent(_ standIn: IdentityStandIn) throws -> JSONValue {
        .string(String(try #require(standIn.requests.last?.body.split(separator: " ").last)))
    }

    private static func appCode() throws -> JSONValue {
        let code = OneTimeCode(secret: try #require(Base32.decode(secret)))
        return .string(code.code(step: Int(Date().timeIntervalSince1970) / 30))
    }

    @Test("Replacing a phone with an authenticator app requires a code sent to the phone")
    func replacing() async throws {
        try await Self.run(["SMS", "TOTP"]) { server, standIn in
            let kim = try await server.signUp("kim")
            _ = try await Self.put(server, kim, ["mobile": "+49 30 1"]).succeeded()
            _ = try await Self.put(server, kim, ["mobile": "+49 30 1", "token": try Self.sent(standIn)]).succeeded()
            let app: JSONObject = ["secret": .string(Self.secret), "token": try Self.appCode()]
            for old: JSONValue in [.null, "", "000", ["$ne": ""], true] {
                let answer = try await Self.put(server, kim, .object(app.merging(["old": old]) { $1 }))
                #expect(answer.code == 141, "\(old): \(answer.text)")
            }
            let body: JSONValue = ["username": "kim", "password": "secret"]
            #expect(try await server.send("POST", "/login", body).error == "Missing additional authData mfa")
            let asked = try await Self.put(server, kim, .object(app.merging(["old": "request"]) { $1 }))
            #expect(asked.error == "Please enter the token", "\(asked.text)")
            let old = try Self.sent(standIn)
            let changed = try await Self.put(server, kim, .object(app.merging(["old": old]) { $1 }))
            #expect(changed["authDataResponse"]?["mfa"]?["recovery"] != nil, "\(changed.text)")
        }
    }

    @Test("Concurrent log-ins with one text-message code create a single session")
    func race() async throws {
        try await Self.run(["SMS"]) { server, standIn in
            let kim = try await server.signUp("kim")
            _ = try await Self.put(server, kim, ["mobile": "+49 30 1"]).succeeded()
            _ = try await Self.put(server, kim, ["mobile": "+49 30 1", "token": try Self.sent(standIn)]).succeeded()
            @Sendable func logIn(_ token: JSONValue) async throws -> TestAnswer {
                try await server.send(
                    "POST", "/login",
                    ["username": "kim", "password": "secret", "authData": ["mfa": ["token": token]]])
            }
            // Concurrent requests lead to a single valid code.
            let before = standIn.requests.count
            let asked = try await concurrently(5) { _ in try await logIn("request") }
            #expect(asked.allSatisfy { $0.code == 141 }, "\(asked.map(\.text))")
            #expect(standIn.requests.count - before <= 5)
            // Only the code of the request that was stored is valid.
            let codes = standIn.requests.dropFirst(before).compactMap { $0.body.split(separator: " ").last }
            var answers: [TestAnswer] = []
            for code in codes {
                // If several codes were sent, the invalid ones would lock the account.
                try await server.execute(
                    "UPDATE \"_User\" SET \"_failed_login_count\" = 0, \"_account_lockout_expires_at\" = NULL")
                answers += try await concurrently(8) { _ in try await logIn(.string(String(code))) }
            }
            #expect(answers.count { $0.status == 200 } == 1, "\(codes.count) codes: \(answers.map(\.text))")
        }
    }

    @Test("Sends at most ten messages to a phone number, across users, re-enrollments and spellings")
    func flood() async throws {
        try await Self.run(["SMS"]) { server, standIn in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            for round in 0..<15 {
                let number = ["+49 30 12345", "(049) 30-12345", "+49/30.12345"][round % 3]
                let user = round % 2 == 0 ? kim : lou
                let answer = try await Self.put(server, user, ["mobile": .string(number)])
                if round >= 10 {
                    #expect(answer.error == "Too many messages were sent to this number.", "\(answer.text)")
                } else {
                    #expect(answer.status == 200, "\(answer.text)")
                    #expect(try await Self.put(server, user, .null).status == 200)
                }
            }
            #expect(standIn.requests.count == 10)
            #expect(try await Self.put(server, kim, ["mobile": "+49 30 999"]).status == 200)
        }
    }

    @Test("Sends at most ten messages for a user, whatever the phone numbers; other users aren't affected")
    func manyNumbers() async throws {
        try await Self.run(["SMS"]) { server, standIn in
            let kim = try await server.signUp("kim")
            for number in 0..<12 {
                let answer = try await Self.put(server, kim, ["mobile": .string("+99 900 \(1000 + number)")])
                if number >= 10 {
                    #expect(answer.error == "Too many messages were sent. Please try again later.", "\(answer.text)")
                } else {
                    #expect(answer.status == 200, "\(answer.text)")
                    #expect(try await Self.put(server, kim, .null).status == 200)
                }
            }
            #expect(standIn.requests.count == 10)
            let lou = try await server.signUp("lou")
            #expect(try await Self.put(server, lou, ["mobile": "+99 900 2000"]).status == 200)
        }
    }

    @Test("Wrong codes lock the account even between correct passwords, with and without accountLockout")
    func passwordBetween() async throws {
        for lockout: JSONObject in [["accountLockout": ["threshold": 3, "duration": 5]], [:]] {
            try await Self.run(["TOTP"], lockout) { server, _ in
                let kim = try await server.signUp("kim")
                let app: JSONObject = ["secret": .string(Self.secret), "token": try Self.appCode()]
                _ = try await Self.put(server, kim, .object(app)).succeeded()
                let password: JSONObject = ["username": "kim", "password": "secret"]
                let guess = password.merging(["authData": ["mfa": ["token": "not it"]]]) { $1 }
                var texts: [String] = []
                for _ in 0..<12 {
                    texts.append(try await server.send("POST", "/login", .object(guess)).text)
                    // None of these requests proves the second factor.
                    _ = try await server.send("POST", "/verifyPassword", .object(password))
                    let challenge = password.merging(["challengeData": ["mfa": [:]]]) { $1 }
                    _ = try await server.send("POST", "/challenge", .object(challenge))
                    _ = try await server.send("POST", "/login", .object(password))
                }
                let allowed = lockout.isEmpty ? 10 : 3
                #expect(texts.count { $0.contains("Invalid MFA token") } == allowed, "\(texts)")
                #expect(texts.dropFirst(allowed).allSatisfy { $0.contains("Your account is locked") }, "\(texts)")
            }
        }
    }

    @Test("Wrong codes for replacing the authenticator app lock the account")
    func guessedOld() async throws {
        try await Self.run(["TOTP"]) { server, _ in
            let kim = try await server.signUp("kim")
            let app: JSONObject = ["secret": .string(Self.secret), "token": try Self.appCode()]
            _ = try await Self.put(server, kim, .object(app)).succeeded()
            var texts: [String] = []
            for _ in 0..<12 {
                texts.append(try await Self.put(server, kim, .object(app.merging(["old": "wrong"]) { $1 })).text)
            }
            #expect(texts.prefix(10).allSatisfy { $0.contains("Invalid MFA token") }, "\(texts)")
            #expect(texts.dropFirst(10).allSatisfy { $0.contains("Your account is locked") }, "\(texts)")
        }
    }
}
