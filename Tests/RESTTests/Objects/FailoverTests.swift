import JSON
import TestSupport
import Testing

/// What happens when another server takes the writes over, with a real standby.
@Suite(.serialized) struct FailoverTests {
    @Test("After a switchover that leaves connections open, all writes go on where they are taken")
    func switchover() async throws {
        try await ReplicatedCluster.run { cluster in
            try await TestServer.run(on: cluster.writableURI) { server in
                let id = try await server.create("Post", ["title": "old"])
                try await cluster.switchOver()
                let made = try await server.send("POST", "/classes/Post", ["title": "new"])
                #expect(made.status == 201, "\(made.text)")
                let changed = try await server.send("PUT", "/classes/Post/\(id)", ["title": "changed"])
                #expect(changed.status == 200, "\(changed.text)")
                let batch: JSONValue = [
                    "transaction": true,
                    "requests": [
                        ["method": "POST", "path": "/parse/classes/Post", "body": ["title": "a"]],
                        ["method": "POST", "path": "/parse/classes/Post", "body": ["title": "b"]],
                    ],
                ]
                let together = try await server.send("POST", "/batch", batch, as: .master)
                #expect(together.status == 200, "\(together.text)")
                let field = try await server.send("POST", "/classes/Post", ["title": "c", "added": 1])
                #expect(field.status == 201, "\(field.text)")
                let titles = try await TestServer.texts(
                    "SELECT title FROM \"Post\" ORDER BY title", on: cluster.replicaURI)
                #expect(titles == ["a", "b", "c", "changed", "new"])
                let left = try await TestServer.texts("SELECT title FROM \"Post\"", on: cluster.primaryURI)
                #expect(left == ["old"])
            }
        }
    }
}
