import JSON
import TestSupport
import Testing

/// Advisories of class B: an operator instead of a text grants no access.
@Suite struct SecurityOperatorTests {
    @Test("GHSA-h4mf-75hf-67w4: log-ins accept only strings as username, email and password")
    func logIn() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim", ["email": "kim@example.com"])
            for value in SecurityProbe.notTexts {
                let bodies: [JSONValue] = [
                    ["username": value, "password": "secret"], ["email": value, "password": "secret"],
                    ["username": "kim", "password": value], ["username": value, "password": value],
                    ["username": "kim", "email": value, "password": "secret"],
                ]
                for body in bodies {
                    for path in ["/login", "/verifyPassword"] {
                        let answer = try await server.send("POST", path, body)
                        SecurityProbe.expectRefused(answer, 101, "\(path) \(body)")
                        #expect(answer["objectId"] == nil, "\(body)")
                    }
                }
                let loginAs = try await server.send("POST", "/loginAs", ["userId": value], as: .master)
                SecurityProbe.expectRefused(loginAs, 162, "loginAs \(value)")
            }
            #expect(try await server.send("GET", "/sessions", as: .master).results.count == 1)
            #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).status == 200)
        }
    }

    @Test("GHSA-h4mf-75hf-67w4: rejects non-string session tokens with 209")
    func sessionTokens() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let note = try await server.create(
                "Note", ["text": "x", "ACL": .object([Name(kim.id): ["read": true]])], as: .session(kim.token))
            for value in SecurityProbe.notTexts {
                for path in ["/users/me", "/sessions/me", "/classes/Note/\(note)", "/classes/Note"] {
                    let answer = try await server.send(
                        "POST", path,
                        [
                            "_method": "GET", "_ApplicationId": .string(TestServer.applicationID),
                            "_SessionToken": value,
                        ],
                        as: .nobody, headers: ["X-Parse-REST-API-Key": TestServer.restKey])
                    #expect(answer.status == 400 && answer.code == 209, "\(path) \(value): \(answer.text)")
                    #expect(!answer.text.contains(kim.id), "\(path) \(value)")
                }
            }
        }
    }

    @Test("GHSA-5fw2-8jcv-xh87: rejects log-ins with non-string provider ids")
    func providerIds() async throws {
        try await TestServer.run { server in
            let body: JSONValue = ["authData": ["anonymous": ["id": "device-1"]]]
            let owner = try await server.send("POST", "/users", body).succeeded().string("objectId")
            for value in SecurityProbe.notTexts {
                let answer = try await server.send("POST", "/users", ["authData": ["anonymous": ["id": value]]])
                SecurityProbe.expectRefused(answer, 162, "\(value)")
                #expect(!answer.text.contains(owner), "\(value)")
            }
            for data: JSONValue in ["x", 7, true, ["a"]] {
                for authData: JSONValue in [data, ["anonymous": data]] {
                    let answer = try await server.send("POST", "/users", ["authData": authData])
                    SecurityProbe.expectRefused(answer, 252, "\(authData)")
                }
            }
            #expect(try await server.send("GET", "/users", as: .master).results.count == 1)
            #expect(try await server.send("GET", "/sessions", as: .master).results.count == 1)
        }
    }

    @Test("GHSA-vgjh-hmwf-c588: rejects non-string user names, email addresses and passwords in writes")
    func userFields() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            for value in SecurityProbe.notTexts {
                let name = try await server.send("POST", "/users", ["username": value, "password": "x"])
                SecurityProbe.expectRefused(name, 200, "sign-up name \(value)")
                let password = try await server.send("POST", "/users", ["username": "lou", "password": value])
                SecurityProbe.expectRefused(password, 201, "sign-up password \(value)")
                for key in ["username", "email", "password"] {
                    let answer = try await server.send(
                        "PUT", "/users/\(kim.id)", .object([Name(key): value]), as: .session(kim.token))
                    SecurityProbe.expectRefused(answer, 111, "\(key) \(value)")
                }
            }
            #expect(try await server.send("GET", "/users", as: .master).results.count == 1)
            let login = try await server.send("POST", "/login", ["username": "kim", "password": "secret"])
            #expect(login.status == 200)
        }
    }

    private static let internalColumns = [
        "_hashed_password", "_password_history", "_email_verify_token", "_email_verify_token_expires_at",
        "_perishable_token", "_perishable_token_expires_at", "_failed_login_count", "_account_lockout_expires_at",
        "_password_changed_at", "_rperm", "_wperm", "_auth_data_anonymous", "_session_token", "_id",
    ]

    @Test("GHSA-2m6g-crv8-p3c6: clients can't filter, sort or select by internal columns")
    func internalColumns() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            _ = try await SecurityProbe.makeSongs(server)
            for column in Self.internalColumns {
                let leaf: JSONValue = .object([Name(column): ["$exists": true]])
                let inner: JSONValue = ["user": ["$inQuery": ["className": "_User", "where": leaf]]]
                let conditions: [(String, JSONValue)] = [
                    ("_User", leaf), ("_User", .object([Name(column): ["$regex": "^a"]])), ("_User", ["$or": [leaf]]),
                    ("_User", ["$and": [["$nor": [leaf]]]]), ("_User", .object(["\(column).a": 1])), ("Song", inner),
                ]
                for (className, condition) in conditions {
                    let answer = try await server.find(className, ["where": condition], as: .session(kim.token))
                    SecurityProbe.expectRefused(answer, 105, "\(condition)")
                }
                for order in [column, "-\(column)"] {
                    let answer = try await server.find("_User", ["order": .string(order)], as: .session(kim.token))
                    SecurityProbe.expectRefused(answer, 105, "order \(order)")
                }
                let keys = try await server.find("_User", ["keys": .string(column)], as: .session(kim.token))
                #expect(!keys.text.contains("\"\(column)\""), "keys \(column)")
            }
            #expect(try await server.find("_User", ["where": ["password": ["$exists": true]]]).results.isEmpty)
        }
    }

    @Test("GHSA-2m6g-crv8-p3c6: an internal column as the key of $select matches nothing")
    func internalKeys() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let hash: JSONValue = "$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"
            _ = try await server.send("PUT", "/users/\(kim.id)", ["_hashed_password": hash], as: .maintenance)
                .succeeded()
            _ = try await server.create("Guess", ["text": hash])
            let query: JSONValue = ["query": ["className": "_User", "where": [:]], "key": "_hashed_password"]
            let guessed = try await server.find("Guess", ["where": ["text": ["$select": query]]])
            #expect(guessed.results.isEmpty, "\(guessed.text)")
            let others = try await server.find("Guess", ["where": ["text": ["$dontSelect": query]]])
            #expect(others.status == 400 || others.results.count == 1, "\(others.text)")
        }
    }

    @Test("GHSA-9cp7-3q5w-j92g: an invalid $regex returns 102 with Parse's error text, not PostgreSQL's")
    func errorText() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            for pattern in ["[", "(", "a{2,1}", "*", "(?<", "\\", "[z-a]", "a**", "(?P<n"] {
                let answer = try await server.find("Song", ["where": ["title": ["$regex": .string(pattern)]]])
                SecurityProbe.expectRefused(answer, 102, pattern)
                #expect(answer.error == "Invalid regular expression", "\(pattern)")
            }
            for value: JSONValue in [1, true, ["a"], ["$regex": "a"], .null] {
                let answer = try await server.find("Song", ["where": ["title": ["$regex": value]]])
                SecurityProbe.expectRefused(answer, 102, "\(value)")
                let options = try await server.find("Song", ["where": ["title": ["$regex": "a", "$options": value]]])
                SecurityProbe.expectRefused(options, 102, "options \(value)")
            }
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("GHSA-vgjh-hmwf-c588: rejects non-string class names in subqueries and paths or methods in batches")
    func otherTexts() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            for value in SecurityProbe.notTexts {
                let inner = try await server.find(
                    "Song", ["where": ["title": ["$inQuery": ["className": value, "where": [:]]]]])
                SecurityProbe.expectRefused(inner, 102, "className \(value)")
                let batch = try await server.send(
                    "POST", "/batch", ["requests": [["method": "GET", "path": value]]])
                SecurityProbe.expectRefused(batch, 107, "path \(value)")
                let method = try await server.send(
                    "POST", "/batch", ["requests": [["method": value, "path": "/parse/classes/Song"]]])
                SecurityProbe.expectRefused(method, 107, "method \(value)")
            }
            try await SecurityProbe.expectSongs(server)
        }
    }
}
