import JSON
import TestSupport
import Testing

extension CloudScenario {
    /// Behaviors that only webhooks can have.
    static let webhooks: [CloudScenario] = [
        // Returns the webhook key of the call.
        CloudScenario(53, "keyed") { server async throws in
            #expect(try await server.send("POST", "/functions/keyed", [:]).json == ["result": "secret"])
        },
        // Responds with `{"error": "no"}`.
        CloudScenario(54, "failText") { server async throws in
            let answer = try await server.send("POST", "/functions/failText", [:])
            #expect(answer.status == 400)
            #expect(answer.json == ["code": 141, "error": "no"])
        },
        // Responds with an error that has `error` instead of `message`.
        CloudScenario(55, "failOldCode") { server async throws in
            let answer = try await server.send("POST", "/functions/failOldCode", [:])
            #expect(answer.json == ["code": 1337, "error": "x"])
        },
        // Responds with the text `hello`.
        CloudScenario(56, "hello") { server async throws in
            let answer = try await server.send("POST", "/functions/hello", [:])
            #expect(answer.json == ["code": 141, "error": "Malformed response"])
            let refused = try await server.send("POST", "/classes/Hello", ["a": 1])
            #expect(refused.json == ["code": 141, "error": "Malformed response"])
            #expect(try await server.find("Hello").results.isEmpty)
        },
        // Responds with the status 500.
        CloudScenario(57, "broken") { server async throws in
            let answer = try await server.send("POST", "/functions/broken", [:])
            #expect(answer.status == 400)
            #expect(answer.json == ["code": 141, "error": "Webhook responded with status 500."])
        },
        // beforeSave: responds with `{"success": {}}`.
        CloudScenario(58, "EmptyBefore") { server async throws in
            // The response replaces the client's fields, so none of them is stored.
            let id = try await server.create("EmptyBefore", ["a": 1])
            let update = try await server.send("PUT", "/classes/EmptyBefore/\(id)", ["a": 2])
            #expect(update.status == 200 && update["a"] == nil, "\(update.text)")
            #expect(try await server.send("GET", "/classes/EmptyBefore/\(id)")["a"] == nil)
        },
        // afterSave: responds with `{"success": {}}`.
        CloudScenario(59, "EmptyAfter") { server async throws in
            let created = try await server.send("POST", "/classes/EmptyAfter", ["a": 1])
            #expect(created.status == 201)
            #expect(Set(created.json.objectValue?.keys ?? []) == ["objectId", "createdAt"])
        },
    ]
}
