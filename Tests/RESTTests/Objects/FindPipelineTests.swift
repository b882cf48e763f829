import App
import JSON
import Operations
import ParseModel
import TestSupport
import Testing

/// Interactions between permissions, triggers, includes, subqueries and counts of a find.
@Suite struct FindPipelineTests {
    /// Hides banned objects of a class.
    private struct Ban: TriggerSet {
        let className: Name
        func trigger(for event: TriggerEvent, of className: Name) -> Trigger? { nil }
        func findTrigger(for event: FindEvent, of className: Name) -> FindTrigger? {
            guard className == self.className, event == .beforeFind else { return nil }
            return { call in
                var condition = call.query["where"]?.objectValue ?? [:]
                condition["banned"] = ["$ne": true]
                call.query["where"] = .object(condition)
            }
        }
    }

    private static func banning(_ className: Name) -> ServerExtensions {
        var extensions = ServerExtensions()
        extensions.backend.triggers = Ban(className: className)
        return extensions
    }

    @Test("Includes more than 100 objects through a beforeFind trigger with only the get permission")
    func includes() async throws {
        try await TestServer.run(extensions: Self.banning("Artist")) { server in
            let calls = (0..<120).map { index -> JSONValue in
                ["method": "POST", "path": "/parse/classes/Artist", "body": ["banned": .bool(index == 0)]]
            }
            let made = try await server.send("POST", "/batch", ["requests": .array(calls)])
            let artists = made.json.arrayValue?.compactMap { $0["success"]?["objectId"]?.stringValue } ?? []
            for artist in artists { _ = try await server.create("Song", ["artist": .pointer("Artist", artist)]) }
            _ = try await server.send(
                "PUT", "/schemas/Artist", ["classLevelPermissions": ["get": ["*": true], "find": [:]]], as: .master
            ).succeeded()
            let found = try await server.find("Song", ["include": "artist", "limit": 1000])
            let types = found.results.map { $0["artist"]?["__type"] }
            #expect(types.count(where: { $0 == "Object" }) == 119, "\(found.status)")
            #expect(types.count(where: { $0 == "Pointer" }) == 1)
        }
    }

    @Test("Applies a beforeFind trigger to nested and listed includes, even with 900 include paths")
    func manyPaths() async throws {
        try await TestServer.run(extensions: Self.banning("Artist")) { server in
            let one = try await server.create("Artist", ["plays": 1])
            let banned = try await server.create("Artist", ["banned": true])
            let three = try await server.create("Artist", ["friend": .pointer("Artist", banned)])
            let artists: JSONValue = .array([.pointer("Artist", one), .pointer("Artist", banned)])
            let place: JSONValue = ["friend": .pointer("Artist", one)]
            _ = try await server.create(
                "Song", ["artists": artists, "artist": .pointer("Artist", three), "place": place])
            let paths =
                ["artist.friend", "artists", "place.friend"]
                + (0..<450).flatMap { ["artists.a\($0)", "place.a\($0)"] }
            let found = try await server.find("Song", ["include": .string(paths.joined(separator: ","))])
            let song = try #require(found.results.first)
            let types = song["artists"]?.arrayValue?.map { $0["__type"] }
            #expect(types == ["Object", "Pointer"])
            #expect(song["artist"]?["__type"] == "Object")
            #expect(song["place"]?["friend"]?["__type"] == "Object")
            #expect(song["place"]?["friend"]?["plays"] == 1)
            #expect(song["artist"]?["friend"]?["__type"] == "Pointer")
        }
    }

    @Test(
        "Matches the union of $in and $inQuery, and excludes that of $nin and $notInQuery, in either order",
        arguments: ["Artist", "Other"] as [Name])
    func lists(triggered: Name) async throws {
        try await TestServer.run(extensions: Self.banning(triggered)) { server in
            let one = try await server.create("Artist", ["plays": 1])
            let two = try await server.create("Artist", ["plays": 2])
            let three = try await server.create("Artist", ["plays": 3])
            for artist in [one, two, three] {
                _ = try await server.create("Song", ["artist": .pointer("Artist", artist)])
            }
            let list = JSONValue.array([.pointer("Artist", two)])
            let query: JSONValue = ["className": "Artist", "where": ["plays": 1]]
            let conditions: [(JSONObject, [String])] = [
                (["$in": list, "$inQuery": query], [one, two]), (["$inQuery": query, "$in": list], [one, two]),
                (["$nin": list, "$notInQuery": query], [three]), (["$notInQuery": query, "$nin": list], [three]),
                (["$nin": [], "$notInQuery": query], [two, three]), (["$inQuery": query, "$in": []], [one]),
            ]
            for (condition, expected) in conditions {
                let found = try await server.find(
                    "Song", ["where": ["artist": .object(condition)], "order": "createdAt"])
                #expect(found.results.compactMap { $0["artist"]?["objectId"]?.stringValue } == expected, "\(condition)")
            }
        }
    }

    @Test("Limits a query to 100 subqueries, even if each runs a trigger")
    func manySubqueries() async throws {
        try await TestServer.run(extensions: Self.banning("Artist")) { server in
            let artist = try await server.create("Artist", ["plays": 1])
            _ = try await server.create("Song", ["artist": .pointer("Artist", artist)])
            func find(_ count: Int) async throws -> TestAnswer {
                let queries = (0..<count).map { number -> JSONValue in
                    ["artist": ["$inQuery": ["className": "Artist", "where": ["plays": .number(Double(number))]]]]
                }
                return try await server.find("Song", ["where": ["$or": .array(queries)]])
            }
            #expect(try await find(100).results.count == 1)
            #expect(try await find(101).code == 102)
        }
    }

    @Test("$relatedTo matches nothing if the owner is hidden, and the other conditions still apply")
    func relations() async throws {
        try await TestServer.run { server in
            let song = try await server.create("Song", ["plays": 44])
            _ = try await server.create("Song", ["plays": 45])
            let owner = try await server.create(
                "Owner",
                ["songs": ["__op": "AddRelation", "objects": [.pointer("Song", song)]]])
            let related: JSONValue = ["$relatedTo": ["object": .pointer("Owner", owner), "key": "songs"]]
            let condition: JSONObject = ["where": ["$or": [related, ["plays": 45]]], "order": "plays"]
            #expect(try await server.find("Song", condition).results.map { $0["plays"] } == [44, 45])
            _ = try await server.send("PUT", "/classes/Owner/\(owner)", ["ACL": [:]], as: .master).succeeded()
            #expect(try await server.find("Song", condition).results.map { $0["plays"] } == [45])
            #expect(try await server.find("Song", ["where": related]).results.isEmpty)
            #expect(try await server.find("Song", condition, as: .master).results.count == 2)
        }
    }

    @Test("Counts follow the count permission, alone or with results, whatever the find permission")
    func counts() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            _ = try await server.create("Song", ["owner": .pointer("_User", kim.id)])
            for _ in 0..<2 { _ = try await server.create("Song", [:]) }
            let permissions: [(JSONValue, JSONValue, found: Int, count: JSONValue)] = [
                (["*": true], ["pointerFields": ["owner"]], 3, 1), (["pointerFields": ["owner"]], ["*": true], 1, 3),
            ]
            for (find, count, found, counted) in permissions {
                let changed: JSONValue = ["classLevelPermissions": ["find": find, "get": find, "count": count]]
                _ = try await server.send("PUT", "/schemas/Song", changed, as: .master).succeeded()
                let both = try await server.find("Song", ["count": 1], as: .session(kim.token))
                #expect(both.results.count == found, "\(both.text)")
                #expect(both["count"] == counted)
                let alone = try await server.find("Song", ["count": 1, "limit": 0], as: .session(kim.token))
                #expect(alone["count"] == counted)
            }
        }
    }
}
