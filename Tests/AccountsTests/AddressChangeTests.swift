import JSON
import TestSupport
import Testing

/// The rate limit of emails caused by address changes.
@Suite struct AddressChangeTests {
    @Test("Rejects a user's eleventh address change in ten minutes, but not other users' or the master key's")
    func manyAddresses() async throws {
        try await MailCatcher.serve(["verifyUserEmails": true]) { server, catcher in
            let ann = try await server.signUp("ann")
            let lou = try await server.signUp("lou")
            func change(_ number: Int, _ user: (id: String, token: String), _ identity: TestServer.Identity?)
                async throws -> TestAnswer
            {
                try await server.send(
                    "PUT", "/users/\(user.id)", ["email": .string("\(user.id)\(number)@m.example")],
                    as: identity ?? .session(user.token))
            }
            for number in 0..<10 { #expect(try await change(number, ann, nil).status == 200) }
            let refused = try await change(10, ann, nil)
            #expect(refused.code == 155, "\(refused.text)")
            #expect(try await change(11, lou, nil).status == 200)
            #expect(try await change(12, ann, .master).status == 200)
            // Updates without a new address don't count.
            let name = try await server.send("PUT", "/users/\(ann.id)", ["nick": "a"], as: .session(ann.token))
            #expect(name.status == 200, "\(name.text)")
        }
    }

    @Test("Limits address changes and removals also without verification, since each sends a notice")
    func manyNotices() async throws {
        try await MailCatcher.serve { server, catcher in
            let ann = try await server.signUp("ann", ["email": "ann@m.example"])
            func change(_ email: JSONValue) async throws -> TestAnswer {
                try await server.send("PUT", "/users/\(ann.id)", ["email": email], as: .session(ann.token))
            }
            for number in 0..<10 {
                #expect(try await change(.string("ann\(number)@m.example")).status == 200)
            }
            for email: JSONValue in ["other@m.example", ["__op": "Delete"]] {
                let refused = try await change(email)
                #expect(refused.code == 155, "\(refused.text)")
            }
            #expect(try await server.user(ann.id)["email"] == "ann9@m.example")
            for address in ["ann"] + (0..<9).map({ "ann\($0)" }) {
                #expect(try await catcher.mail(to: "\(address)@m.example").link.isEmpty)
            }
            #expect(try catcher.mails().count == 10)
        }
    }
}
