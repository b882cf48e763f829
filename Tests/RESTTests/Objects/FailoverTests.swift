import JSON
import Synchronization
import TestSupport
import Testing

/// Switchover and failover to a real standby.
@Suite(.serialized) struct FailoverTests {
    @Test("After a switchover with open connections, all writes reach the new primary")
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

    private final class Flag: Sendable {
        private let state = Mutex(false)
        var isRaised: Bool { state.withLock { $0 } }
        func raise() { state.withLock { $0 = true } }
    }

    @Test("The primary answers reads that a replica cancels because of a replay conflict")
    func stoppedReads() async throws {
        try await ReplicatedCluster.run { cluster in
            try await TestServer.execute("ALTER SYSTEM SET max_standby_streaming_delay = 0", on: cluster.replicaURI)
            _ = try await TestServer.texts("SELECT pg_reload_conf()::text", on: cluster.replicaURI)
            let options: JSONObject = ["readReplicaURIs": [.string(cluster.replicaURI)]]
            try await TestServer.run(on: cluster.primaryURI, options) { server in
                _ = try await server.create("Post", ["title": "a"])
                try await server.execute(
                    """
                    INSERT INTO "Post" ("objectId", title)
                    SELECT 'o' || n, repeat(md5(n::text), 10) FROM generate_series(1, 20000) n
                    """)
                try await cluster.waitForReplica()
                let stopped =
                    "SELECT (confl_lock + confl_snapshot)::text FROM pg_stat_database_conflicts "
                    + "WHERE datname = current_database()"
                let find: JSONObject = [
                    "where": ["title": ["$regex": "(0.*1.*2.*3|x)$"]], "limit": 1,
                    "readPreference": "SECONDARY_PREFERRED",
                ]
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    let isOver = Flag()
                    for _ in 0..<4 {
                        tasks.addTask {
                            while !isOver.isRaised {
                                let answer = try await server.find("Post", find, as: .master)
                                #expect(answer.status == 200, "\(answer.text)")
                            }
                        }
                    }
                    let isStopped = try await eventually(within: .seconds(60)) {
                        // On the standby, the lock conflicts with readers of the table, which stops the replay until
                        // they end.
                        try await server.execute("BEGIN; LOCK TABLE \"Post\" IN ACCESS EXCLUSIVE MODE; COMMIT")
                        return try await TestServer.texts(stopped, on: cluster.replicaURI).first != "0"
                    }
                    isOver.raise()
                    #expect(isStopped)
                    try await tasks.waitForAll()
                }
            }
        }
    }
}
