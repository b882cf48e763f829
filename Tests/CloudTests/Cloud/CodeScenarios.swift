import JSON
import TestSupport
import Testing

extension CloudScenario {
    /// Behaviors of code with Parse objects, which webhooks can't have.
    static let code: [CloudScenario] = [
        // Returns a stored object of the class `Note` with an unsaved change.
        CloudScenario(7, "dirtyOut") { server async throws in
            let object = try await server.send("POST", "/functions/dirtyOut", [:])["result"]
            #expect(object?["__type"] == "Pointer")
            #expect(object?["className"] == "Note")
            #expect(object?.objectValue?.count == 3)
        },
        // Throws an error with the text `no`.
        CloudScenario(12, "failError") { server async throws in
            let answer = try await server.send("POST", "/functions/failError", [:])
            #expect(answer.status == 400)
            #expect(answer.json == ["code": 141, "error": "no"])
        },
        // Throws an error without a text.
        CloudScenario(14, "failSilently") { server async throws in
            let answer = try await server.send("POST", "/functions/failSilently", [:])
            #expect(answer.json == ["code": 141, "error": "Script failed."])
        },
        // beforeSave: throws an error without a text.
        CloudScenario(15, "FailsSilently") { server async throws in
            let answer = try await server.send("POST", "/classes/FailsSilently", ["a": 1])
            #expect(answer.json == ["code": 141, "error": "Script failed. Unknown error."])
        },
        // beforeSave: sets `b` to 2. afterSave: sets `c` to 3, `a` to its own value and `p` to a pointer, and adds 1 to
        // `n`.
        CloudScenario(0, "AfterSets") { server async throws in
            let created = try await server.send("POST", "/classes/AfterSets", ["a": 1, "n": 1])
            #expect(created.status == 201)
            #expect(created["b"] == 2)
            #expect(created["c"] == 3)
            #expect(created["n"] == 2)
            #expect(Set(created.json.objectValue?.keys ?? []) == ["objectId", "createdAt", "b", "c", "n"])
            let id = try created.string("objectId")
            let stored = try await server.send("GET", "/classes/AfterSets/\(id)")
            #expect(stored["c"] == nil)
            #expect(stored["n"] == 1)
            let updated = try await server.send("PUT", "/classes/AfterSets/\(id)", ["a": 2])
            #expect(Set(updated.json.objectValue?.keys ?? []) == ["updatedAt", "b", "c", "n"], "\(updated.text)")
        },
        // afterFind: adds 1 to `n` of each object, sets `m` to 2 and removes `o`.
        CloudScenario(0, "AfterFinds") { server async throws in
            let id = try await server.create("AfterFinds", ["n": 1, "o": 1])
            let found = try await server.find("AfterFinds").results
            #expect(found.map { $0["n"] } == [2])
            #expect(found.map { $0["m"] } == [2])
            #expect(found.first?["o"] == nil)
            #expect(try await server.find("Holds", ["include": "object"]).results.isEmpty)
            _ = try await server.create("Holds", ["object": .pointer("AfterFinds", id)])
            #expect(try await server.find("Holds", ["include": "object"]).results.first?["object"]?["n"] == 2)
        },
        // The job reports `working` and returns `ok`.
        CloudScenario(60, "work") { server async throws in
            #expect(try await server.send("POST", "/jobs/work", [:]).status == 403)
            let started = try await server.send("POST", "/jobs/work", ["a": 1], as: .master)
            #expect(started.status == 200)
            #expect(started.json == [:])
            let id = try #require(started.headers["x-parse-job-status-id"])
            #expect(
                try await eventually {
                    try await server.send("GET", "/classes/_JobStatus/\(id)", as: .master)["status"] == "succeeded"
                })
            let row = try await server.send("GET", "/classes/_JobStatus/\(id)", as: .master)
            #expect(row["message"] == "ok")
            #expect(row["jobName"] == "work")
            #expect(row["source"] == "api")
            #expect(row["finishedAt"]?["__type"] == "Date")
            #expect(try await server.send("POST", "/jobs/nosuch", [:], as: .master).error == "Invalid job.")
        },
    ]
}
