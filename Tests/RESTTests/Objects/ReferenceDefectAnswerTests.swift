import JSON
import TestSupport
import Testing

/// Requests for which parse-server on PostgreSQL returns wrong results, loses data or fails.
@Suite("Responses that parse-server gets wrong on PostgreSQL")
struct ReferenceDefectAnswerTests {
    @Test("Counts are exact for custom and system classes, also with a limit of 0")
    func counts() async throws {
        try await TestServer.run { server in
            for number in 0..<7 { _ = try await server.create("Song", ["n": .number(Double(number))]) }
            for limit in [JSONValue.number(0), 2] {
                for identity in [TestServer.Identity.anonymous, .master] {
                    let answer = try await server.find("Song", ["count": 1, "limit": limit], as: identity)
                    #expect(answer["count"] == 7)
                }
            }
            for number in 0..<3 {
                let installation: JSONValue = ["deviceType": "ios", "installationId": .string("device-\(number)")]
                #expect(try await server.send("POST", "/installations", installation).status == 201)
                let audience: JSONValue = ["name": .string("crowd \(number)"), "query": "{}"]
                #expect(try await server.send("POST", "/push_audiences", audience, as: .master).status == 201)
            }
            for path in ["/installations", "/push_audiences"] {
                for limit in [0, 1] {
                    let answer = try await server.send("GET", "\(path)?count=1&limit=\(limit)", as: .master)
                    #expect(answer["count"] == 3, "\(path) \(limit)")
                    #expect(answer["results"]?.arrayValue?.count == limit, "\(path) \(limit)")
                }
            }
        }
    }

    @Test("Ignores an objectId in the body of an update")
    func renaming() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Song", ["n": 1])
            let answer = try await server.send(
                "PUT", "/classes/Song/\(id)", ["objectId": "another", "n": 2], as: .master)
            #expect(answer.status == 200)
            #expect(try await server.send("GET", "/classes/Song/\(id)")["n"] == 2)
            #expect(try await server.send("GET", "/classes/Song/another").status == 404)
        }
    }

    @Test("Updating a hook repeatedly leaves a single hook")
    func hooks() async throws {
        try await TestServer.run { server in
            let hook: JSONValue = ["functionName": "sing", "url": "https://a.example/1"]
            #expect(try await server.send("POST", "/hooks/functions", hook, as: .master).status == 200)
            for number in 2...3 {
                let change: JSONValue = ["url": .string("https://a.example/\(number)")]
                #expect(try await server.send("PUT", "/hooks/functions/sing", change, as: .master).status == 200)
            }
            let list = try await server.send("GET", "/hooks/functions", as: .master).json.arrayValue
            #expect(list == [["functionName": "sing", "url": "https://a.example/3"]])
            #expect(try await server.rows("SELECT 1 FROM \"_Hooks\"").count == 1)
        }
    }

    @Test("Config parameters support Add, AddUnique and Remove on lists")
    func configurationLists() async throws {
        try await TestServer.run { server in
            let steps: [(JSONValue, JSONValue)] = [
                (["b", "a"], ["b", "a"]), (["__op": "Add", "objects": ["b"]], ["b", "a", "b"]),
                (["__op": "AddUnique", "objects": ["c", "a"]], ["b", "a", "b", "c"]),
                (["__op": "Remove", "objects": ["b"]], ["a", "c"]),
            ]
            for (value, expected) in steps {
                let answer = try await server.send("PUT", "/config", ["params": ["list": value]], as: .master)
                #expect(answer.status == 200)
                let list = try await server.send("GET", "/config")["params"]?["list"]
                #expect(list == expected, "\(value.text)")
            }
        }
    }

    @Test("A pointer inside an object is stored, found and returned as a pointer")
    func nestedPointer() async throws {
        try await TestServer.run { server in
            let artist = try await server.create("Artist", ["name": "Nina"])
            let pointer: JSONValue = ["__type": "Pointer", "className": "Artist", "objectId": .string(artist)]
            let song = try await server.create("Song", ["data": ["artist": pointer]])
            for condition in [pointer, ["$eq": pointer], ["$in": [pointer]]] {
                let found = try await server.find("Song", ["where": ["data.artist": condition]])
                #expect(found["results"]?.arrayValue?.map { $0["objectId"] } == [.string(song)])
                let read = found["results"]?.arrayValue?.first?["data"]?["artist"]
                #expect(read?["__type"] == "Pointer" && read?["className"] == "Artist")
                #expect(read?["objectId"] == .string(artist))
            }
        }
    }

    @Test("upgradeToRevocableSession causes no server error, and users with NULL permissions are public")
    func oldUsers() async throws {
        try await TestServer.run { server in
            let (id, token) = try await server.signUp("kim")
            let upgraded = try await server.send("POST", "/upgradeToRevocableSession", [:], as: .session(token))
            #expect(upgraded.status < 500)
            try await server.execute(
                "UPDATE \"_User\" SET \"_rperm\" = NULL, \"_wperm\" = NULL")
            #expect(try await server.send("GET", "/users/\(id)").status == 200)
            let login = try await server.send("POST", "/login", ["username": "kim", "password": "secret"])
            #expect(login.status == 200)
        }
    }

    @Test("Stops a runaway $regex with 124 and answers the next request")
    func runawayPattern() async throws {
        try await TestServer.run(["regexTimeout": 500, "allowRegexBackReferences": true]) { server in
            _ = try await server.create("Song", ["s": .string(String(repeating: "a", count: 801))])
            // The repeated groups have an even total length, so every way to split the text fails.
            let pattern = "^(a*)(a*)(a*)(a*)(a*)\\1\\2\\3\\4\\5$"
            let answer = try await server.find("Song", ["where": ["s": ["$regex": .string(pattern)]]])
            #expect(answer.status == 400)
            #expect(answer["code"] == 124)
            #expect(
                try await server.find("Song", ["where": ["s": ["$regex": "^aa"]]])["results"]?.arrayValue?.count == 1)
        }
    }

    @Test("Accepts read preferences, hints and comments without effect, and explain returns a JSON plan")
    func advice() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["n": 1])
            let advice: JSONObject = [
                "readPreference": "SECONDARY", "includeReadPreference": "NEAREST",
                "subqueryReadPreference": "SECONDARY_PREFERRED", "hint": "_id_",
                "comment": "*/; DROP TABLE \"Song\"; --",
            ]
            let found = try await server.find("Song", advice)
            #expect(found["results"]?.arrayValue?.count == 1)
            var explained = advice
            explained["explain"] = true
            let plan = try await server.find("Song", explained, as: .master)
            let root = plan["results"]?.arrayValue?.first?["QUERY PLAN"]?.arrayValue?.first?["Plan"]
            #expect(root?["Node Type"]?.stringValue != nil)
            #expect(try await server.find("Song", explained)["code"] == 102)
            let pipeline: JSONObject = ["pipeline": [["$match": ["n": 1]]], "hint": "_id_", "comment": "'; --"]
            let sums = try await server.send("GET", "/aggregate/Song", .object(pipeline), as: .master)
            #expect(sums["results"]?.arrayValue?.count == 1)
        }
    }
}
