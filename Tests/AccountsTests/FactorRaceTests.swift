import Foundation
import JSON
import TestSupport
import Testing

/// Second factors with concurrent and late requests.
@Suite(.timeLimit(.minutes(10))) struct FactorRaceTests {
    private static let secret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
    private static let options: JSONObject = ["auth": ["mfa": ["options": ["TOTP"]]]]

    private static func enrol(_ server: TestServer, _ id: String, _ token: String) async throws -> [String] {
        let body: JSONValue = [
            "authData": ["mfa": ["secret": .string(secret), "token": .string(try SecondFactorTests.code(-1))]]
        ]
        let answer = try await server.send("PUT", "/users/\(id)", body, as: .session(token))
        let recovery = try #require(answer["authDataResponse"]?["mfa"]?["recovery"]?.stringValue, "\(answer.text)")
        return recovery.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test("Concurrent log-ins with one authenticator code create a single session, by password or provider")
    func replay() async throws {
        try await TestServer.run(Self.options) { server in
            let device: JSONValue = ["id": "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0"]
            let kim = try await server.send("POST", "/users", ["authData": ["anonymous": device]]).succeeded()
            let id = try kim.string("objectId")
            let named = try await server.send(
                "PUT", "/users/\(id)", ["username": "kim", "password": "secret"],
                as: .session(try kim.string("sessionToken"))
            ).succeeded()
            _ = try await Self.enrol(server, id, try named.string("sessionToken"))
            try await server.execute("DELETE FROM \"_Session\"")
            let code = JSONValue.string(try SecondFactorTests.code(1))
            let answers = try await concurrently(12) { number in
                number % 2 == 0
                    ? try await server.send(
                        "POST", "/login",
                        ["username": "kim", "password": "secret", "authData": ["mfa": ["token": code]]])
                    : try await server.send(
                        "POST", "/users", ["authData": ["anonymous": device, "mfa": ["token": code]]])
            }
            #expect(answers.count { $0.status == 200 } == 1, "\(answers.map(\.text))")
            #expect(answers.allSatisfy { $0.status == 200 || $0.code == 141 || $0.code == 101 })
            #expect(try await server.texts("SELECT count(*)::text FROM \"_Session\"") == ["1"])
        }
    }

    @Test("Concurrent changes to other login data neither restore a used recovery code nor drop the factor")
    func staleWrites() async throws {
        try await TestServer.run(Self.options) { server in
            let kim = try await server.signUp("kim")
            let codes = try await Self.enrol(server, kim.id, kim.token)
            let spent = try await concurrently(9) { number in
                number == 4
                    ? try await server.send(
                        "POST", "/login",
                        ["username": "kim", "password": "secret", "authData": ["mfa": ["token": .string(codes[0])]]])
                    : try await server.send(
                        "PUT", "/users/\(kim.id)",
                        [
                            "authData": [
                                "anonymous": number % 2 == 0 ? ["id": .string("device-\(number)-of-kim")] : .null
                            ]
                        ],
                        as: .session(kim.token))
            }
            #expect(spent.allSatisfy { $0.status == 200 }, "\(spent.map(\.text))")
            let without = try await server.send("POST", "/login", ["username": "kim", "password": "secret"])
            #expect(without.code == -1, "\(without.text)")
            let again = try await server.send(
                "POST", "/login",
                ["username": "kim", "password": "secret", "authData": ["mfa": ["token": .string(codes[0])]]])
            #expect(again.code == 141, "\(again.text)")
        }
    }

    @Test("Rejects expired text-message codes, whether the expiry is stored as a Date or as a string")
    func lateMessages() async throws {
        let answer: IdentityStandIn.Answer = { _ in .init("{}") }
        try await IdentityStandIn.run(answer) { standIn in
            let sender: JSONValue = ["url": "https://sms.example/send", "headers": [:], "body": "{{token}}"]
            let auth: JSONValue = ["mfa": ["options": ["SMS"], "sendSMS": sender]]
            try await TestServer.run(standIn.options.merging(["auth": auth]) { $1 }) { server in
                let kim = try await server.signUp("kim")
                func sent() throws -> JSONValue { .string(try #require(standIn.requests.last?.body)) }
                func put(_ data: JSONValue) async throws -> TestAnswer {
                    try await server.send(
                        "PUT", "/users/\(kim.id)", ["authData": ["mfa": data]], as: .session(kim.token))
                }
                func logIn(_ token: JSONValue) async throws -> TestAnswer {
                    try await server.send(
                        "POST", "/login",
                        ["username": "kim", "password": "secret", "authData": ["mfa": ["token": token]]])
                }
                func expire(_ path: String, _ date: String) async throws {
                    try await server.execute(
                        "UPDATE \"_User\" SET \"authData\" = jsonb_set(\"authData\", '\(path)', '\(date)')")
                }
                let dates = [
                    #"{"__type":"Date","iso":"2020-01-01T00:00:00.000Z"}"#, #""2020-01-01T00:00:00.000Z""#,
                ]
                for date in dates {
                    _ = try await put(["mobile": "+49 30 1"]).succeeded()
                    try await expire("{mfa,pending,+49 30 1,expiry}", date)
                    let late = try await put(["mobile": "+49 30 1", "token": try sent()])
                    #expect(late.error == "Invalid MFA token", "\(late.text)")
                }
                _ = try await put(["mobile": "+49 30 1"]).succeeded()
                _ = try await put(["mobile": "+49 30 1", "token": try sent()]).succeeded()
                for date in dates {
                    #expect(try await logIn("request").error == "Please enter the token")
                    try await expire("{mfa,expiry}", date)
                    #expect(try await logIn(try sent()).error == "Invalid MFA token 2")
                }
                #expect(try await logIn("request").error == "Please enter the token")
                #expect(try await logIn(try sent()).status == 200)
            }
        }
    }
}
