import Foundation
import JSON
import TestSupport
import Testing

/// Attacks of class O by position: wherever a name matters, a look-alike has no effect.
@Suite struct SecurityLookAlikePlacesTests {
    typealias Pair = SecurityLookAlikeTests.Pair

    @Test("A look-alike request id isn't a duplicate of the real one")
    func requestIds() async throws {
        let options: JSONObject = ["idempotencyOptions": ["paths": ["classes/.*"], "ttl": 300]]
        try await TestServer.run(options) { server in
            for pair in SecurityLookAlikeTests.pairs {
                for (id, status) in [(pair.real, 201), (pair.fake, 201), (pair.real, 400), (pair.fake, 400)] {
                    let answer = try await server.send(
                        "POST", "/classes/Song", ["title": "x"], headers: ["X-Parse-Request-Id": id])
                    #expect(answer.status == status, "\(pair): \(answer.text)")
                    if status == 400 { #expect(answer.code == 159) }
                }
            }
        }
    }

    @Test("Imports rows with look-alike ids as separate objects", arguments: SecurityLookAlikeTests.pairs)
    func imports(_ pair: Pair) async throws {
        try await TestServer.run(["allowCustomObjectId": true]) { server in
            let rows: JSONValue = [
                "results": [
                    ["objectId": .string(pair.real), "title": "real"],
                    ["objectId": .string(pair.fake), "title": "fake"],
                ]
            ]
            for _ in 0..<2 {
                _ = try await server.send("POST", "/import_data/Song", rows, as: .master).succeeded()
            }
            let songs = try await server.find("Song", nil, as: .master).results
            #expect(Set(songs.compactMap { $0["title"]?.stringValue }) == ["real", "fake"])
            #expect(songs.count == 2)
        }
    }

    @Test(
        "Look-alike config parameters are separate, and only the masterKeyOnly one is hidden",
        arguments: SecurityLookAlikeTests.pairs)
    func parameters(_ pair: Pair) async throws {
        try await TestServer.run { server in
            let params: JSONValue = .object([Name(pair.real): "secret", Name(pair.fake): "open"])
            _ = try await server.send(
                "PUT", "/config", ["params": params, "masterKeyOnly": .object([Name(pair.real): true])], as: .master
            ).succeeded()
            #expect(try await server.send("GET", "/config", as: .master)["params"] == params)
            let seen = try #require(try await server.send("GET", "/config")["params"]?.objectValue)
            #expect(seen[Name(pair.real)] == nil)
            #expect(seen[Name(pair.fake)] == "open")
        }
    }

    @Test("Look-alike function names register separate hooks", arguments: SecurityLookAlikeTests.pairs)
    func hooks(_ pair: Pair) async throws {
        try await TestServer.run { server in
            for (name, url) in [(pair.real, "https://real.example.org"), (pair.fake, "https://fake.example.org")] {
                _ = try await server.send(
                    "POST", "/hooks/functions", ["functionName": .string(name), "url": .string(url)], as: .master
                ).succeeded()
            }
            let functions = try #require(try await server.send("GET", "/hooks/functions", as: .master).json.arrayValue)
            #expect(functions.count == 2)
            #expect(Set(functions.compactMap { $0["url"]?.stringValue }).count == 2)
        }
    }

    @Test(
        "Removing a list element keeps its look-alike, and distinct returns both",
        arguments: SecurityLookAlikeTests.pairs)
    func elements(_ pair: Pair) async throws {
        try await TestServer.run { server in
            let id = try await server.create("Song", ["tags": [.string(pair.real), .string(pair.fake)]])
            _ = try await server.send(
                "PUT", "/classes/Song/\(id)", ["tags": ["__op": "Remove", "objects": [.string(pair.real)]]]
            ).succeeded()
            #expect(try await server.send("GET", "/classes/Song/\(id)")["tags"] == [.string(pair.fake)])
            let found = try await server.find("Song", ["tags": .string(pair.real)], as: .anonymous).results
            #expect(found.isEmpty)
            let grouped = try await server.send(
                "POST", "/classes/Song", ["title": .string(pair.real)])
            #expect(grouped.status == 201)
            _ = try await server.create("Song", ["title": .string(pair.fake)])
            let distinct = try await server.send("GET", "/aggregate/Song?distinct=title", as: .master)
            #expect(distinct["results"]?.arrayValue?.count == 2, "\(distinct.text)")
        }
    }

    @Test("A look-alike password doesn't log in")
    func passwords() async throws {
        try await TestServer.run { server in
            for (number, pair) in SecurityLookAlikeTests.pairs.enumerated() {
                let name = "kim\(number)"
                _ = try await server.signUp(name, password: pair.real)
                for (password, status) in [(pair.fake, 404), (pair.real, 200)] {
                    let login: JSONValue = ["username": .string(name), "password": .string(password)]
                    let answer = try await server.send("POST", "/login", login)
                    #expect(answer.status == status && answer.code == (status == 200 ? nil : 101), "\(answer.text)")
                }
            }
        }
    }

    @Test("A look-alike of a protected field's name reveals nothing")
    func protectedFields() async throws {
        try await TestServer.run { server in
            let permissions: JSONValue = [
                "find": ["*": true], "get": ["*": true], "create": ["*": true], "protectedFields": ["*": ["Key"]],
            ]
            let schema: JSONValue = ["fields": ["Key": ["type": "String"]], "classLevelPermissions": permissions]
            _ = try await server.send("POST", "/schemas/Vault", schema, as: .master).succeeded()
            let id = try await server.create("Vault", ["Key": "secret"], as: .master)
            for query in [
                "keys=%E2%84%AAey", "order=%E2%84%AAey", "where=%7B%22%E2%84%AAey%22%3A%22secret%22%7D",
                "excludeKeys=%E2%84%AAey", "include=%E2%84%AAey",
            ] {
                for path in ["/classes/Vault?", "/classes/Vault/\(id)?"] {
                    let answer = try await server.send("GET", path + query)
                    #expect(answer.status < 500)
                    #expect(!answer.text.contains("secret"), "\(path)\(query) \(answer.text)")
                }
            }
            // Protecting a nonexistent field is rejected, and changes no visibility.
            let fake: JSONValue = ["classLevelPermissions": ["protectedFields": ["*": ["\u{212A}ey"]]]]
            #expect(try await server.send("PUT", "/schemas/Vault", fake, as: .master).status == 400)
            #expect(try await server.send("GET", "/classes/Vault/\(id)")["Key"] == nil)
        }
    }

    @Test("A look-alike file name doesn't reach the file and can't be created")
    func files() async throws {
        try await TestServer.run { server in
            let made = try await server.send("POST", "/files/K.txt", ["base64": "aGk="], as: .master)
            #expect(made.status == 201, "\(made.text)")
            let name = try #require(made["name"]?.stringValue)
            let stem = name.dropLast("K.txt".utf8.count)
            let path = try #require(made["url"]?.stringValue?.components(separatedBy: "/files/").last)
            let folder = path.dropLast(name.utf8.count)
            #expect(try await server.send("GET", "/files/\(folder)\(name)", as: .master).status == 200)
            let other = try await server.send("GET", "/files/\(folder)\(stem)%E2%84%AA.txt", as: .master)
            #expect(other.status == 404, "\(other.text)")
            #expect(try await server.send("DELETE", "/files/\(stem)%E2%84%AA.txt", as: .master).status >= 400)
            #expect(try await server.send("POST", "/files/%E2%84%AA.txt", ["base64": "aGk="], as: .master).code == 122)
        }
    }

    @Test(
        "Indexes with look-alike names are created and dropped separately, or both rejected",
        arguments: SecurityLookAlikeTests.pairs)
    func indexes(_ pair: Pair) async throws {
        try await TestServer.run { server in
            let fields: JSONValue = ["a": ["type": "String"], "b": ["type": "String"]]
            _ = try await server.send("POST", "/schemas/Song", ["fields": fields], as: .master).succeeded()
            let both: JSONValue = .object([Name(pair.real): ["a": 1], Name(pair.fake): ["b": 1]])
            let made = try await server.send("PUT", "/schemas/Song", ["indexes": both], as: .master)
            // Names with other letters may be rejected. Then neither index may remain.
            let known = try await server.send("GET", "/schemas/Song", as: .master)["indexes"]?.objectValue ?? [:]
            #expect((known[Name(pair.real)] != nil) == (made.status == 200), "\(made.text)")
            #expect((known[Name(pair.fake)] != nil) == (made.status == 200))
            guard made.status == 200 else { return }
            let drop: JSONValue = .object([Name(pair.real): ["__op": "Delete"], Name(pair.fake): ["__op": "Delete"]])
            _ = try await server.send("PUT", "/schemas/Song", ["indexes": drop], as: .master).succeeded()
            let left = try await server.send("GET", "/schemas/Song", as: .master)["indexes"]?.objectValue ?? [:]
            #expect(left[Name(pair.real)] == nil)
            #expect(left[Name(pair.fake)] == nil)
        }
    }
}
