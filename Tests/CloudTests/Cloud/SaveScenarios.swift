import JSON
import TestSupport
import Testing

extension CloudScenario {
    /// Changes, rejections and context of save triggers.
    static let saves: [CloudScenario] = [
        // beforeSave: sets `b` to 2.
        CloudScenario(27, "SetsB") { server async throws in
            let created = try await server.send("POST", "/classes/SetsB", ["a": 1])
            #expect(created.status == 201)
            #expect(created["b"] == 2)
            #expect(created["a"] == nil)
            let id = try created.string("objectId")
            let stored = try await server.send("GET", "/classes/SetsB/\(id)")
            #expect(stored["a"] == 1)
            #expect(stored["b"] == 2)
            let updated = try await server.send("PUT", "/classes/SetsB/\(id)", ["a": 2, "b": 3])
            #expect(updated["b"] == 2)
            for isTransaction in [false, true] {
                let create: JSONValue = ["method": "POST", "path": "/parse/classes/SetsB", "body": ["a": 1]]
                let batch = try await server.send(
                    "POST", "/batch", ["requests": [create, create], "transaction": .bool(isTransaction)])
                #expect(batch.json.arrayValue?.map { $0["success"]?["b"] } == [2, 2], "\(batch.text)")
            }
        },
        // beforeSave: sets `a` to its own value.
        CloudScenario(28, "SetsSame") { server async throws in
            let created = try await server.send("POST", "/classes/SetsSame", ["a": 1])
            #expect(Set(created.json.objectValue?.keys ?? []) == ["objectId", "createdAt"])
        },
        // beforeSave: removes `a`.
        CloudScenario(29, "Unsets") { server async throws in
            let created = try await server.send("POST", "/classes/Unsets", ["a": 1, "b": 1])
            #expect(created.status == 201)
            #expect(created["a"] == ["__op": "Delete"])
            #expect(created["b"] == nil)
            let stored = try await server.send("GET", "/classes/Unsets/\(created.string("objectId"))")
            #expect(stored["a"] == nil)
            #expect(stored["b"] == 1)
        },
        // beforeSave: increments `n` by 1.
        CloudScenario(30, "Increments") { server async throws in
            let id = try await server.create("Increments", ["x": 0])
            let counts = try await concurrently(20) { number in
                try await server.send("PUT", "/classes/Increments/\(id)", ["x": .number(Double(number + 1))])["n"]
            }
            #expect(Set(counts.compactMap { $0 }).count == 20, "each response has its own count")
            #expect(try await server.send("GET", "/classes/Increments/\(id)")["n"] == 21)
        },
        // beforeSave: rejects every save with the text `no`.
        CloudScenario(0, "Refuses") { server async throws in
            let refused = try await server.send("POST", "/classes/Refuses", ["a": 1, "newField": 2])
            #expect(refused.status == 400)
            #expect(refused.json == ["code": 141, "error": "no"])
            // Nothing was created, not even the class.
            #expect(try await server.send("GET", "/schemas/Refuses", as: .master).code == 103)
        },
        // beforeSave: rejects objects whose `a` is 1, with the code 1337 and the text `x`.
        CloudScenario(55, "RefusesCode") { server async throws in
            let refused = try await server.send("POST", "/classes/RefusesCode", ["a": 1])
            #expect(refused.json == ["code": 1337, "error": "x"])
            let id = try await server.create("RefusesCode", ["a": 2])
            #expect(try await server.send("PUT", "/classes/RefusesCode/\(id)", ["a": 1]).code == 1337)
            #expect(try await server.send("GET", "/classes/RefusesCode/\(id)")["a"] == 2)
            let create: JSONValue = ["method": "POST", "path": "/parse/classes/RefusesCode", "body": ["a": 3]]
            let bad: JSONValue = ["method": "POST", "path": "/parse/classes/RefusesCode", "body": ["a": 1]]
            let batch = try await server.send("POST", "/batch", ["requests": [create, bad], "transaction": true])
            #expect(batch.code == 1337)
            #expect(try await server.find("RefusesCode", ["where": ["a": 3]]).results.isEmpty)
        },
        // beforeSave: rejects every save with the text `called`. Saves without permission fail before that.
        CloudScenario(31, "Guarded") { server async throws in
            _ = try await server.send(
                "POST", "/schemas/Guarded",
                [
                    "className": "Guarded",
                    "classLevelPermissions": [
                        "find": ["*": true], "get": ["*": true], "create": [:], "update": [:],
                    ],
                ], as: .master
            ).succeeded()
            #expect(try await server.send("POST", "/classes/Guarded", ["a": 1]).code == 119)
            #expect(try await server.send("PUT", "/classes/Guarded/abcdefghij", ["a": 1]).code == 119)
            #expect(try await server.send("POST", "/classes/Guarded", ["a": 1], as: .master).error == "called")
        },
        // beforeSave: rejects updates with the text `called`.
        CloudScenario(32, "Owned") { server async throws in
            let kim = try await server.signUp("owned-kim")
            let id = try await server.create(
                "Owned", ["a": 1, "ACL": [Name(kim.id): ["read": true, "write": true], "*": ["read": true]]])
            let refused = try await server.send("PUT", "/classes/Owned/\(id)", ["a": 2])
            #expect(refused.status == 404)
            #expect(refused.json == ["code": 101, "error": "Object not found."])
            let own = try await server.send("PUT", "/classes/Owned/\(id)", ["a": 2], as: .session(kim.token))
            #expect(own.error == "called")
        },
        // beforeSave: sets `saw` to whether `d` is present.
        CloudScenario(33, "Defaulted") { server async throws in
            let fields: JSONValue = ["d": ["type": "String", "defaultValue": "x"]]
            _ = try await server.send(
                "POST", "/schemas/Defaulted", ["className": "Defaulted", "fields": fields], as: .master
            ).succeeded()
            let created = try await server.send("POST", "/classes/Defaulted", ["n": 1])
            #expect(created["saw"] == false)
            #expect(created["d"] == "x")
        },
        // beforeSave: does nothing.
        CloudScenario(34, "Typed") { server async throws in
            _ = try await server.create("Typed", ["n": 1])
            let refused = try await server.send("POST", "/classes/Typed", ["n": "text"])
            #expect(refused.code == 111)
        },
        // beforeSave: on updates, sets `was` to the old value of `a` and `is` to the new one.
        CloudScenario(35, "Original") { server async throws in
            let id = try await server.create("Original", ["a": 1])
            let answer = try await server.send("PUT", "/classes/Original/\(id)", ["a": 2])
            #expect(answer["was"] == 1)
            #expect(answer["is"] == 2)
        },
        // beforeSave: sets `context.k` to 1. afterSave: replaces the response with `{"context": the context}`.
        CloudScenario(36, "Chain") { server async throws in
            let answer = try await server.send(
                "POST", "/classes/Chain", ["n": 1], headers: ["X-Parse-Cloud-Context": "{\"a\":1}"])
            #expect(answer["context"]?["a"] == 1)
            let bad = try await server.send(
                "POST", "/classes/Chain", ["n": 1], headers: ["X-Parse-Cloud-Context": "1"])
            #expect(bad.json == ["code": 107, "error": "Invalid object for context."])
        },
        // afterSave: fails.
        CloudScenario(38, "AfterFails") { server async throws in
            let created = try await server.send("POST", "/classes/AfterFails", ["a": 1])
            #expect(created.status == 201)
            #expect(Set(created.json.objectValue?.keys ?? []) == ["objectId", "createdAt"])
        },
        // afterSave: replaces the response with `{"x": 1}`.
        CloudScenario(39, "AfterReplaces") { server async throws in
            let created = try await server.send("POST", "/classes/AfterReplaces", ["a": 1])
            #expect(created.status == 201)
            #expect(created.json == ["x": 1])
        },
    ]
}
