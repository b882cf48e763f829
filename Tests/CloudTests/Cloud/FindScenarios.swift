import JSON
import TestSupport
import Testing

extension CloudScenario {
    static let finds: [CloudScenario] = [
        // beforeDelete: rejects objects whose `kept` is true, with `no`.
        CloudScenario(40, "Kept") { server async throws in
            let id = try await server.create("Kept", ["kept": true])
            #expect(try await server.send("DELETE", "/classes/Kept/\(id)").json == ["code": 141, "error": "no"])
            #expect(try await server.send("GET", "/classes/Kept/\(id)").status == 200)
            let other = try await server.create("Kept", ["kept": false])
            #expect(try await server.send("DELETE", "/classes/Kept/\(other)").json == [:])
            let third = try await server.create("Kept", ["kept": true])
            let deletion: JSONValue = ["method": "DELETE", "path": .string("/parse/classes/Kept/\(third)")]
            let batch = try await server.send("POST", "/batch", ["requests": [deletion], "transaction": true])
            #expect(batch.json == ["code": 141, "error": "no"])
            #expect(try await server.send("GET", "/classes/Kept/\(third)").status == 200)
        },
        // afterDelete: fails with `too late`.
        CloudScenario(41, "TooLate") { server async throws in
            let id = try await server.create("TooLate", [:])
            let answer = try await server.send("DELETE", "/classes/TooLate/\(id)")
            #expect(answer.status == 200 && answer.json == [:], "\(answer.text)")
            #expect(try await server.send("GET", "/classes/TooLate/\(id)").code == 101)
            let other = try await server.create("TooLate", [:])
            let deletion: JSONValue = ["method": "DELETE", "path": .string("/parse/classes/TooLate/\(other)")]
            for isTransaction in [false, true] {
                let third = try await server.create("TooLate", [:])
                let second: JSONValue = ["method": "DELETE", "path": .string("/parse/classes/TooLate/\(third)")]
                let requests: JSONValue = isTransaction ? [second] : [deletion, second]
                let batch = try await server.send(
                    "POST", "/batch", ["requests": requests, "transaction": .bool(isTransaction)])
                #expect(batch.json.arrayValue?.allSatisfy { $0 == ["success": [:]] } == true, "\(batch.text)")
            }
            #expect(try await server.find("TooLate").results.isEmpty)
        },
        // beforeFind and beforeDelete: reject with `no`.
        CloudScenario(42, "NoFinds") { server async throws in
            let id = try await server.create("NoFinds", [:])
            #expect(try await server.send("DELETE", "/classes/NoFinds/\(id)").json == ["code": 141, "error": "no"])
            #expect(try await server.send("GET", "/classes/NoFinds").json == ["code": 141, "error": "no"])
            #expect(try await server.send("GET", "/classes/NoFinds/\(id)").json == ["code": 141, "error": "no"])
            #expect(
                try await server.send("GET", "/aggregate/NoFinds?distinct=a", as: .master).json
                    == ["code": 141, "error": "no"])
        },
        // beforeFind: sets the limit to 1.
        CloudScenario(43, "LimitOne") { server async throws in
            for _ in 1...3 { _ = try await server.create("LimitOne", [:]) }
            #expect(try await server.find("LimitOne").results.count == 1)
        },
        // beforeFind: returns the objects `{"made": true}`.
        CloudScenario(44, "Made") { server async throws in
            #expect(try await server.find("Made").results == [["made": true]])
        },
        // afterFind: returns an empty list.
        CloudScenario(45, "Emptied") { server async throws in
            _ = try await server.create("Emptied", [:])
            #expect(try await server.find("Emptied").results.isEmpty)
        },
        // beforeFind: excludes objects whose `secret` is true. afterFind: sets `seen` of each object to true.
        CloudScenario(46, "Inner") { server async throws in
            let open = try await server.create("Inner", ["secret": false])
            let secret = try await server.create("Inner", ["secret": true])
            for id in [open, secret] { _ = try await server.create("Outer", ["inner": .pointer("Inner", id)]) }
            #expect(try await server.find("Inner").results.map { $0["objectId"] } == [.string(open)])
            let outer = try await server.find("Outer", ["include": "inner", "order": "createdAt"]).results
            #expect(outer.count == 2)
            #expect(outer[0]["inner"]?["seen"] == true)
            #expect(outer[0]["inner"]?["className"] == "Inner")
            #expect(outer[1]["inner"]?["secret"] == nil)
            let query: JSONValue = ["inner": ["$inQuery": ["className": "Inner", "where": [:]]]]
            let found = try await server.find("Outer", ["where": query]).results
            #expect(found.map { $0["inner"]?["objectId"] } == [.string(open)])
        },
        // beforeFind: returns the object `{"counted": …}`, which is true if the client requests a count.
        CloudScenario(47, "Counted") { server async throws in
            #expect(try await server.find("Counted", ["count": 1]).results == [["counted": true]])
            #expect(try await server.find("Counted").results == [["counted": false]])
        },
    ]
}
