import JSON
import TestSupport
import Testing

/// Requests of migration scripts that don't use the import routes.
@Suite struct MigrationTests {
    /// A page of complete objects as returned by the old server.
    private static func batch(
        _ count: Int, prefix: String = "/parse", date: (String) -> JSONValue = { .date($0) }
    ) -> JSONValue {
        let requests: [JSONValue] = (0..<count).map { index in
            [
                "method": "POST", "path": .string("\(prefix)/classes/Song"),
                "body": [
                    "objectId": .string("song\(index)"), "createdAt": date("2015-01-02T03:04:05.678Z"),
                    "updatedAt": date("2016-01-02T03:04:05.678Z"), "title": .string("Title \(index)"),
                    "ACL": ["*": ["read": true]],
                ],
            ]
        }
        return ["requests": .array(requests)]
    }

    /// Scripts send dates of objects in two formats: like other dates, or as plain texts.
    private static func date(isPlain: Bool) -> (String) -> JSONValue {
        { isPlain ? .string($0) : .date($0) }
    }

    @Test(
        "A master-key batch of 50 objects keeps their ids if allowCustomObjectId is set, but not their dates",
        arguments: [true, false])
    func batchWithIds(isPlain: Bool) async throws {
        try await TestServer.run(["allowCustomObjectId": true]) { server in
            let answer = try await server.send(
                "POST", "/batch", Self.batch(50, date: Self.date(isPlain: isPlain)), as: .master)
            #expect(answer.status == 200)
            let answers = try #require(answer.json.arrayValue)
            #expect(answers.map { $0["success"]?["objectId"] } == (0..<50).map { .string("song\($0)") })
            let song = try await server.send("GET", "/classes/Song/song49")
            #expect(song["title"] == "Title 49")
            #expect(song["ACL"] == ["*": ["read": true]])
            // Only the maintenance key can set an object's dates.
            #expect(song["createdAt"]?.stringValue?.hasPrefix("2015") == false)
            #expect(song["updatedAt"] == song["createdAt"])
            let again = try await server.send("POST", "/batch", Self.batch(2), as: .master)
            #expect(again.json.arrayValue?.map { $0["error"]?["code"] } == [137, 137])
        }
    }

    @Test(
        "Without allowCustomObjectId, rejects every object that has an id with 105, whatever the key",
        arguments: [true, false])
    func batchWithoutPermission(isMaster: Bool) async throws {
        try await TestServer.run { server in
            let answer = try await server.send(
                "POST", "/batch", Self.batch(3), as: isMaster ? .master : .maintenance)
            #expect(answer.status == 200)
            let error: JSONValue = ["error": ["code": 105, "error": "objectId is an invalid field name."]]
            #expect(answer.json == [error, error, error])
            #expect(try await server.find("Song").results.isEmpty)
        }
    }

    @Test("Rejects plain-text dates from clients, and malformed ones with the master or maintenance key (111)")
    func refusedDates() async throws {
        try await TestServer.run { server in
            let body: JSONValue = ["createdAt": "2015-01-02T03:04:05.678Z"]
            #expect(try await server.send("POST", "/classes/Song", body).code == 111)
            for identity: TestServer.Identity in [.master, .maintenance] {
                let answer = try await server.send("POST", "/classes/Song", ["createdAt": "yesterday"], as: identity)
                #expect(answer.code == 111)
            }
            #expect(try await server.find("Song").results.isEmpty)
        }
    }

    @Test(
        "The maintenance key can set createdAt and updatedAt, but updatedAt can't be the earlier one",
        arguments: [true, false])
    func dates(isPlain: Bool) async throws {
        try await TestServer.run(["allowCustomObjectId": true]) { server in
            let answer = try await server.send(
                "POST", "/batch", Self.batch(50, date: Self.date(isPlain: isPlain)), as: .maintenance)
            #expect(answer.json.arrayValue?.allSatisfy { $0["success"] != nil } == true, "\(answer.text)")
            let found = try await server.find("Song", ["limit": 100])
            #expect(found.results.count == 50)
            for song in found.results {
                #expect(song["createdAt"] == "2015-01-02T03:04:05.678Z")
                #expect(song["updatedAt"] == "2016-01-02T03:04:05.678Z")
            }
            let backwards = try await server.send(
                "POST", "/classes/Song",
                ["createdAt": .date("2016-01-01T00:00:00.000Z"), "updatedAt": .date("2015-01-01T00:00:00.000Z")],
                as: .maintenance)
            #expect(backwards.code == 142)
        }
    }

    @Test("Accepts batch paths with another server's mount path, or none", arguments: ["/parse", "/1", "", "/api"])
    func prefixes(prefix: String) async throws {
        try await TestServer.run(["mountPath": "/api", "allowCustomObjectId": true, "preset": 9]) { server in
            let answer = try await server.send("POST", "/batch", Self.batch(2, prefix: prefix), as: .master)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json.arrayValue?.map { $0["success"]?["objectId"] } == ["song0", "song1"])
        }
    }

    @Test(
        "The maintenance key can write a password hash, and the user logs in with that password",
        arguments: ["/users", "/batch"])
    func hashes(path: String) async throws {
        try await TestServer.run { server in
            let old = try await server.signUp("old", password: "secret")
            let record = try await server.send("GET", "/users/\(old.id)", as: .maintenance)
            let hash = try #require(record["_hashed_password"])
            let user: JSONValue = ["username": "kim", "_hashed_password": hash]
            let made =
                path == "/users"
                ? try await server.send("POST", path, user, as: .maintenance)
                : try await server.send(
                    "POST", path, ["requests": [["method": "POST", "path": "/parse/users", "body": user]]],
                    as: .maintenance)
            _ = try made.succeeded()
            let login = try await server.send("POST", "/login", ["username": "kim", "password": "secret"])
            #expect(login.status == 200, "\(login.text)")

            let other = try await server.signUp("lou", password: "other")
            _ = try await server.send(
                "PUT", "/users/\(other.id)", ["_hashed_password": hash], as: .maintenance
            ).succeeded()
            let changed = try await server.send("POST", "/login", ["username": "lou", "password": "secret"])
            #expect(changed.status == 200)
        }
    }

    @Test("Only the maintenance key can write password hashes, which must be non-empty strings")
    func foreignHashes() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim", password: "secret")
            for identity: TestServer.Identity in [.anonymous, .session(kim.token), .master] {
                let made = try await server.send(
                    "POST", "/users", ["username": "lou", "_hashed_password": "$2b$04$x"], as: identity)
                #expect(made.status == 400)
                let changed = try await server.send(
                    "PUT", "/users/\(kim.id)", ["_hashed_password": "$2b$04$x"], as: identity)
                #expect(changed.status == 400)
            }
            #expect(
                try await server.send("POST", "/login", ["username": "kim", "password": "secret"]).status == 200)
            let empty = try await server.send(
                "POST", "/users", ["username": "lou", "_hashed_password": ""], as: .maintenance)
            #expect(empty.code == 201)
            let number = try await server.send(
                "POST", "/users", ["username": "lou", "_hashed_password": 5], as: .maintenance)
            #expect(number.code == 111)
        }
    }

    @Test("Returns internal user fields, such as password hashes, only to the maintenance key")
    func internalFields() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            _ = try await server.signUp("lou")
            _ = try await server.send(
                "PUT", "/users/\(kim.id)",
                [
                    "_perishable_token": "token", "_failed_login_count": 2,
                    "_account_lockout_expires_at": .date("2020-01-02T03:04:05.678Z"), "_password_history": ["a"],
                ], as: .maintenance
            ).succeeded()
            let found = try await server.find("_User", ["order": "username"], as: .maintenance)
            let record = try #require(found.results.first)
            #expect(record["_hashed_password"]?.stringValue?.hasPrefix("$2") == true)
            #expect(found.results.last?["_hashed_password"] != record["_hashed_password"])
            #expect(record["_perishable_token"] == "token")
            #expect(record["_failed_login_count"] == 2)
            #expect(record["_account_lockout_expires_at"] == .date("2020-01-02T03:04:05.678Z"))
            #expect(record["_password_history"] == ["a"])
            #expect(found.results.last?["_perishable_token"] == nil)

            let chosen = try await server.find("_User", ["keys": "_hashed_password"], as: .maintenance)
            #expect(chosen.results.allSatisfy { $0["_hashed_password"] != nil && $0["_perishable_token"] == nil })
            let other = try await server.find("_User", ["keys": "username"], as: .maintenance)
            #expect(!other.text.contains("_hashed_password"))
            let without = try await server.find("_User", ["excludeKeys": "_hashed_password"], as: .maintenance)
            #expect(!without.text.contains("_hashed_password"))

            for identity: TestServer.Identity in [.anonymous, .session(kim.token), .master] {
                for parameters: JSONObject in [[:], ["keys": "_hashed_password,_perishable_token"]] {
                    let answer = try await server.find("_User", parameters, as: identity)
                    #expect(answer.status == 200)
                    #expect(!answer.text.contains("_hashed") && !answer.text.contains("_perishable"))
                }
                let record = try await server.send("GET", "/users/\(kim.id)", as: identity)
                #expect(!record.text.contains("_hashed") && !record.text.contains("_perishable"))
            }
        }
    }
}
