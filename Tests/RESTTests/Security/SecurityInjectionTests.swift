import JSON
import TestSupport
import Testing

/// Advisories of class A: names and values never become SQL.
@Suite struct SecurityInjectionTests {
    @Test("GHSA-6927-3vr9-fxf2, GHSA-c2hr-cqg6-8j6r: a regular expression never becomes SQL")
    func regularExpressions() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            _ = try await server.create("Quote", ["text": "O'Brien \"x\" \\ y"])
            for pattern in [
                "' OR '1'='1", "^\\Q' OR 1=1 --\\E", "\\Q'\\E OR ''='", "\\x27 OR 1=1 --", "'; DROP TABLE \"Song\"; --",
                "^\\Qalpha' OR 'a'='a\\E", "$1", "''", "\\\\' OR true --",
            ] {
                let answer = try await server.find("Song", ["where": ["title": ["$regex": .string(pattern)]]])
                SecurityProbe.expectHarmless(answer, pattern)
                #expect(answer.results.isEmpty, "\(pattern)")
            }
            for pattern in ["^\\QO'Brien\\E", "^O'Brien", "\\Q\"x\" \\ y\\E"] {
                let answer = try await server.find("Quote", ["where": ["text": ["$regex": .string(pattern)]]])
                #expect(answer.results.count == 1, "\(pattern): \(answer.text)")
            }
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("GHSA-c442-97qw-j6c6, GHSA-qpr4-jrj4-6f27: rejects queries on invalid field names with 105")
    func queryNames() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            for name in SecurityProbe.names {
                for key in [name, "meta.\(name)", "meta.stars.\(name)", "title.\(name)"] {
                    for constraint: JSONValue in [1, "x", ["$gt": 1], ["$regex": "a"], ["$exists": false]] {
                        let condition: JSONValue = .object([Name(key): constraint])
                        for identity: TestServer.Identity in [.anonymous, .master] {
                            let answer = try await server.find("Song", ["where": condition], as: identity)
                            SecurityProbe.expectRefused(answer, 105, "\(condition)")
                        }
                    }
                }
            }
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("GHSA-qpr4-jrj4-6f27: invalid field names in order, keys or include cause no SQL error")
    func orderAndKeys() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            for name in SecurityProbe.names {
                for key in [name, "-\(name)", "meta.\(name)", "-meta.stars.\(name)"] {
                    let ordered = try await server.find("Song", ["order": .array([.string(key)])])
                    SecurityProbe.expectHarmless(ordered, "order \(key)")
                    if !key.contains("meta") { SecurityProbe.expectRefused(ordered, 105, "order \(key)") }
                    for parameter in ["keys", "excludeKeys", "include", "redirectClassNameForKey"] {
                        let answer = try await server.find("Song", [Name(parameter): .string(key)])
                        SecurityProbe.expectHarmless(answer, "\(parameter) \(key)")
                    }
                }
            }
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("GHSA-q3vj-96h2-gwvg: rejects a non-numeric Increment amount with 107, also for nested keys")
    func amounts() async throws {
        try await TestServer.run { server in
            let id = try await SecurityProbe.makeSongs(server)
            let amounts: [JSONValue] = [
                "1", "1; DROP TABLE \"Song\"", "1 WHERE true --", ["a": 1], [1], true, .null, ["$ne": 1],
            ]
            for amount in amounts {
                for key in ["plays", "meta.stars", "meta.new"] {
                    let body: JSONValue = .object([Name(key): ["__op": "Increment", "amount": amount]])
                    let answer = try await server.send("PUT", "/classes/Song/\(id)", body)
                    SecurityProbe.expectRefused(answer, 107, "\(body)")
                }
            }
            let song = try await server.send("GET", "/classes/Song/\(id)")
            #expect(same(song["meta"], ["stars": 1]))
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("GHSA-gqpp-xgvh-9h7h: writes to nested keys preserve special characters exactly")
    func nestedKeys() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            for name in SecurityProbe.names where !name.contains("$") {
                let id = try await server.create("Counter", ["counts": [:]])
                let bodies: [JSONObject] = [
                    ["counts.\(name)": .increment(2)], ["counts.\(name)": .increment(3)],
                    ["counts.\(name)": ["__op": "Delete"]],
                ]
                for (body, wanted) in zip(bodies, [2, 5, nil] as [JSONValue?]) {
                    let answer = try await server.send("PUT", "/classes/Counter/\(id)", .object(body))
                    #expect(answer.status == 200, "\(body): \(answer.text)")
                    let counter = try await server.send("GET", "/classes/Counter/\(id)")
                    #expect(counter["counts"]?[name] == wanted, "\(body): \(counter.text)")
                }
            }
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("GHSA-gqpp-xgvh-9h7h: rejects invalid field names with 105 and creates no columns")
    func fieldNames() async throws {
        try await TestServer.run { server in
            let id = try await SecurityProbe.makeSongs(server)
            for name in SecurityProbe.names {
                for (method, path) in [("POST", "/classes/Song"), ("PUT", "/classes/Song/\(id)")] {
                    let answer = try await server.send(method, path, .object([Name(name): 1]))
                    SecurityProbe.expectRefused(answer, 105, "\(method) \(name)")
                }
                let schema = try await server.send(
                    "PUT", "/schemas/Song", ["className": "Song", "fields": .object([Name(name): ["type": "String"]])],
                    as: .master)
                SecurityProbe.expectRefused(schema, 105, "schema \(name)")
                let index = try await server.send(
                    "PUT", "/schemas/Song", ["className": "Song", "indexes": .object([Name(name): ["title": 1]])],
                    as: .master
                )
                SecurityProbe.expectHarmless(index, "index \(name)")
                let column = try await server.send(
                    "PUT", "/schemas/Song", ["className": "Song", "indexes": ["i": .object([Name(name): 1])]],
                    as: .master)
                SecurityProbe.expectRefused(column, 102, "index on \(name)")
            }
            let fields = try await server.send("GET", "/schemas/Song", as: .master)["fields"]?.objectValue
            #expect(
                Set(fields?.map(\.key) ?? []) == [
                    "objectId", "createdAt", "updatedAt", "ACL", "title", "plays", "meta",
                ])
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("GHSA-p2w6-rmh7-w8q3: names in an aggregation never become SQL")
    func aggregations() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            for name in SecurityProbe.names {
                let text = JSONValue.string(name)
                let field = JSONValue.string("$\(name)")
                let pipelines: [JSONValue] = [
                    [["$group": .object(["_id": .null, Name(name): ["$sum": 1]])]],
                    [["$group": ["_id": field]]],
                    [["$group": ["_id": .object([Name(name): "$title"])]]],
                    [["$project": .object([Name(name): 1])]], [["$project": .object(["a": field])]],
                    [["$match": .object([Name(name): 1])]], [["$sort": .object([Name(name): 1])]], [["$count": text]],
                    [["$unwind": field]], [["$addFields": .object([Name(name): "$title"])]],
                    [["$lookup": ["from": text, "localField": text, "foreignField": text, "as": text]]],
                    [["$unset": text]],
                ]
                for pipeline in pipelines {
                    let answer = try await server.send(
                        "POST", "/aggregate/Song", ["_method": "GET", "pipeline": pipeline], as: .master)
                    #expect(answer.status < 500, "\(pipeline): \(answer.text)")
                    #expect(answer.results.count <= 2, "\(pipeline): \(answer.text)")
                }
                for path in [name, "meta.\(name)"] {
                    let distinct = try await server.send(
                        "POST", "/aggregate/Song", ["_method": "GET", "distinct": .string(path)], as: .master)
                    #expect(distinct.status < 500, "\(path): \(distinct.text)")
                    #expect(distinct.results.isEmpty, "\(path): \(distinct.text)")
                }
            }
            try await SecurityProbe.expectSongs(server)
        }
    }
}
