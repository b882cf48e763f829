import Foundation
import JSON
import TestSupport
import Testing

/// `readPreference` and related parameters, with a real lagging replica.
///
/// Serialized, because each test starts two clusters.
@Suite(.serialized) struct ReadReplicaTests {
    /// Runs `body` with a server whose replica has `old` values where the primary has `new` ones.
    private static func withLaggingReplica(
        _ body:
            @escaping @Sendable (TestServer, ReplicatedCluster, _ post: String, _ token: String) async throws -> Void
    ) async throws {
        try await ReplicatedCluster.run { cluster in
            let options: JSONObject = ["readReplicaURI": .string(cluster.replicaURI)]
            try await TestServer.run(on: cluster.primaryURI, options) { server in
                let user = try await server.signUp("anna", ["nick": "old"])
                let author = try await server.create("Author", ["name": "old"])
                let post = try await server.create(
                    "Post",
                    ["title": "old", "author": .pointer("Author", author), "by": .pointer("_User", user.id)])
                try await cluster.freezeReplica()
                for (path, change) in [
                    ("/users/\(user.id)", ["nick": "new"]), ("/classes/Author/\(author)", ["name": "new"]),
                    ("/classes/Post/\(post)", ["title": "new"]),
                ] as [(String, JSONValue)] {
                    _ = try await server.send("PUT", path, change, as: .session(user.token)).succeeded()
                }
                try await body(server, cluster, post, user.token)
            }
        }
    }

    private static func title(_ server: TestServer, _ preference: JSONValue) async throws -> JSONValue? {
        let find: JSONObject = ["where": ["title": ["$exists": true]], "readPreference": preference]
        return try await server.find("Post", find).results.first?["title"]
    }

    @discardableResult
    private static func replicatedPost(_ server: TestServer, _ title: JSONValue = "a") async throws -> String {
        let post = try await server.create("Post", ["title": title])
        let isKnown = try await eventually { try await Self.title(server, "SECONDARY") == title }
        #expect(isKnown)
        return post
    }

    @Test("Only reads with a secondary or nearest readPreference go to the replica")
    func places() async throws {
        try await Self.withLaggingReplica { server, _, post, _ in
            for preference in [.null, "", "PRIMARY", "PRIMARY_PREFERRED", "primary"] as [JSONValue] {
                #expect(try await Self.title(server, preference) == "new")
            }
            for preference in ["SECONDARY", "SECONDARY_PREFERRED", "NEAREST", "secondary", "Nearest"] as [JSONValue] {
                #expect(try await Self.title(server, preference) == "old")
            }
            #expect(try await server.find("Post").results.first?["title"] == "new")
            // A get by id has its own code path.
            for (query, expected) in [("", "new"), ("?readPreference=SECONDARY", "old")] as [(String, JSONValue)] {
                let got = try await server.send("GET", "/classes/Post/\(post)\(query)")
                #expect(got["title"] == expected)
            }

            _ = try await server.create("Post", ["title": "new"])
            for (preference, expected) in [("PRIMARY", 2), ("SECONDARY", 1)] as [(JSONValue, JSONValue)] {
                let parameters: JSONObject = ["count": 1, "limit": 0, "readPreference": preference]
                #expect(try await server.find("Post", parameters)["count"] == expected)
                let pattern: JSONObject = ["where": ["title": ["$regex": "e|o"]], "readPreference": preference]
                #expect(.number(Double(try await server.find("Post", pattern).results.count)) == expected)
                let pipeline: JSONValue = ["pipeline": [["$count": "n"]], "readPreference": preference]
                let counted = try await server.send("GET", "/aggregate/Post", pipeline, as: .master)
                #expect(counted.results.first?["n"] == expected)
            }
            let titles = try await server.send(
                "GET", "/aggregate/Post?distinct=title&readPreference=SECONDARY", as: .master)
            #expect(titles.results == ["old"])
        }
    }

    @Test("Included objects follow readPreference unless includeReadPreference is set")
    func includes() async throws {
        try await Self.withLaggingReplica { server, _, post, _ in
            let cases: [(JSONObject, title: JSONValue, name: JSONValue)] = [
                ([:], "new", "new"), (["readPreference": "SECONDARY"], "old", "old"),
                (["readPreference": "SECONDARY", "includeReadPreference": "PRIMARY"], "old", "new"),
                (["includeReadPreference": "SECONDARY"], "new", "old"),
                (["subqueryReadPreference": "SECONDARY"], "new", "new"),
            ]
            for (preferences, title, name) in cases {
                var find = preferences
                find["include"] = "author,by"
                let found = try await server.find("Post", find, as: .master).results.first
                #expect(found?["title"] == title, "\(preferences)")
                #expect(found?["author"]?["name"] == name, "\(preferences)")
                // Users are read from the primary.
                #expect(found?["by"]?["nick"] == "new", "\(preferences)")
            }
            let query = "include=author&readPreference=SECONDARY&includeReadPreference=PRIMARY"
            let got = try await server.send("GET", "/classes/Post/\(post)?\(query)")
            #expect(got["title"] == "old")
            #expect(got["author"]?["name"] == "new")
        }
    }

    @Test("Reads users, sessions, and classes or fields that the replica lacks from the primary")
    func primary() async throws {
        try await Self.withLaggingReplica { server, _, post, token in
            let user = try await server.find("_User", ["readPreference": "SECONDARY"], as: .session(token))
            #expect(user.results.first?["nick"] == "new")
            // The replica doesn't have this session yet.
            let other = try await server.signUp("otto")
            let found = try await server.find("Post", ["readPreference": "SECONDARY"], as: .session(other.token))
            #expect(found.results.first?["title"] == "old")
            let fresh = try await server.create("Fresh", ["n": 1])
            let made = try await server.find("Fresh", ["readPreference": "SECONDARY"])
            #expect(made.results.map { $0["objectId"] } == [.string(fresh)])
            _ = try await server.send("PUT", "/classes/Post/\(post)", ["added": 1]).succeeded()
            let changed = try await server.find("Post", ["readPreference": "SECONDARY", "where": ["added": 1]])
            #expect(changed.results.map { $0["title"] } == ["new"])
        }
    }

    @Test("Rejects unknown read preferences with 102")
    func refusals() async throws {
        try await Self.withLaggingReplica { server, _, post, _ in
            var answers: [TestAnswer] = []
            for preference in ["SOMEWHERE", 1, true, ["SECONDARY"]] as [JSONValue] {
                answers.append(try await server.find("Post", ["readPreference": preference]))
                answers.append(try await server.find("Post", ["includeReadPreference": preference]))
                answers.append(
                    try await server.send(
                        "GET", "/aggregate/Post", ["distinct": "title", "readPreference": preference], as: .master))
            }
            answers.append(try await server.send("GET", "/classes/Post/\(post)?readPreference=x"))
            for answer in answers {
                #expect(answer.status == 400)
                #expect(answer.code == 102)
                #expect(answer.error == "Not supported read preference.")
            }
        }
    }

    @Test("While the replica is down, only reads with the preference SECONDARY fail")
    func lostReplica() async throws {
        try await Self.withLaggingReplica { server, cluster, _, _ in
            try await cluster.stopReplica()
            for preference in ["SECONDARY_PREFERRED", "NEAREST", "PRIMARY"] as [JSONValue] {
                #expect(try await Self.title(server, preference) == "new")
            }
            let refused = try await server.find("Post", ["readPreference": "SECONDARY"])
            #expect(refused.status == 500)
            #expect(refused.code == 1)
            let options: JSONObject = ["readReplicaURI": .string(cluster.replicaURI)]
            try await server.alongside(options) { other in
                let title = try await Self.title(other, "NEAREST")
                #expect(title == "new")
            }
            try await cluster.startReplica()
            #expect(try await eventually { try await Self.title(server, "SECONDARY") == "new" })
        }
    }

    @Test("A session sees its own writes with the preference SECONDARY while the replica lags")
    func ownWrites() async throws {
        try await ReplicatedCluster.run { cluster in
            try await cluster.delayReplica(milliseconds: 2000)
            let options: JSONObject = ["readReplicaURIs": [.string(cluster.replicaURI)]]
            try await TestServer.run(on: cluster.primaryURI, options) { server in
                let anna = try await server.signUp("anna")
                let gone = try await server.create("Post", ["n": -2])
                let post = try await server.create("Post", ["n": -1])
                let find: JSONObject = ["readPreference": "SECONDARY", "where": ["objectId": .string(post)]]
                // Without the table on the replica, all reads would go to the primary.
                try await cluster.waitForReplica()
                #expect(try await eventually { try await server.find("Post", find).results.first?["n"] == -1 })
                var stale = 0
                for number in 0..<60 {
                    let change: JSONValue = ["n": .number(Double(number))]
                    _ = try await server.send("PUT", "/classes/Post/\(post)", change, as: .session(anna.token))
                        .succeeded()
                    let found = try await server.find("Post", find, as: .session(anna.token)).results.first
                    #expect(found?["n"] == .number(Double(number)))
                    // Other clients may see the previous value.
                    if try await server.find("Post", find).results.first?["n"] != found?["n"] { stale += 1 }
                }
                #expect(stale > 0)
                _ = try await server.send("DELETE", "/classes/Post/\(gone)", as: .session(anna.token)).succeeded()
                let others: JSONObject = ["readPreference": "SECONDARY", "where": ["objectId": .string(gone)]]
                let left = try await server.find("Post", others, as: .session(anna.token))
                #expect(left.results.isEmpty)
                try await cluster.waitForReplica()
                let last = try await server.find("Post", find).results.first
                #expect(last?["n"] == .number(59))
            }
        }
    }

    @Test("Treats a replica beyond maxReplicaLag as unavailable")
    func lag() async throws {
        try await ReplicatedCluster.run { cluster in
            let options: JSONObject = ["readReplicaURI": .string(cluster.replicaURI), "maxReplicaLag": 1000]
            try await TestServer.run(on: cluster.primaryURI, options) { server in
                let post = try await Self.replicatedPost(server, "old")
                try await cluster.freezeReplica()
                _ = try await server.send("PUT", "/classes/Post/\(post)", ["title": "new"]).succeeded()
                let isBypassed = try await eventually { try await Self.title(server, "NEAREST") == "new" }
                #expect(isBypassed)
                let refused = try await eventually {
                    try await server.find("Post", ["readPreference": "SECONDARY"]).code == 1
                }
                #expect(refused)
                #expect(try await Self.title(server, "PRIMARY") == "new")
            }
        }
    }

    @Test("A lagging or cut-off replica makes the server degraded and reports its lag; an idle one doesn't")
    func degraded() async throws {
        try await ReplicatedCluster.run { cluster in
            let port = try await FreePort.find()
            let options: JSONObject = [
                "readReplicaURI": .string(cluster.replicaURI), "maxReplicaLag": 2000,
                "metrics": ["port": .number(Double(port))],
            ]
            try await TestServer.run(on: cluster.primaryURI, options) { server in
                func look() async throws -> (status: String, lag: Double) {
                    let answer = try await TestServer(url: "http://127.0.0.1:\(port)", databaseURI: "").send(
                        "GET", "/ready", as: .nobody)
                    #expect(answer.status == 200)
                    let lag = answer["checks"]?["replica"]?["lagSeconds"]?.numberValue
                    return (answer["status"]?.stringValue ?? "", lag ?? -1)
                }
                let post = try await Self.replicatedPost(server, "old")
                let lastWrite = ContinuousClock.now
                let isIdle = try await eventually(within: .seconds(60)) {
                    let found = try await look()
                    return ContinuousClock.now - lastWrite > .seconds(10) && found == ("ready", 0)
                }
                #expect(isIdle)
                try await cluster.freezeReplica()
                _ = try await server.send("PUT", "/classes/Post/\(post)", ["title": "new"]).succeeded()
                var lag = 0.0
                let isDegraded = try await eventually(within: .seconds(60)) {
                    let found = try await look()
                    lag = found.lag
                    return found.status == "degraded"
                }
                #expect(isDegraded)
                #expect(lag > 2)
                // The lag counts from the last time that the replica had caught up, not from the last write.
                let (seconds, _) = (ContinuousClock.now - lastWrite).components
                #expect(lag < Double(seconds) - 4, "\(lag) of \(seconds)")
                let samples = try await TestServer.metrics(at: port)
                #expect(samples["roost_replica_lag_seconds"] ?? 0 > 2)
                _ = try await TestServer.texts("SELECT pg_wal_replay_resume()::text", on: cluster.replicaURI)
                let isBack = try await eventually(within: .seconds(60)) { try await look() == ("ready", 0) }
                #expect(isBack)
                // The replica has applied everything that it received, but it receives nothing any more.
                try await TestServer.execute("ALTER SYSTEM SET primary_conninfo = ''", on: cluster.replicaURI)
                _ = try await TestServer.texts("SELECT pg_reload_conf()::text", on: cluster.replicaURI)
                let isCutOff = try await eventually(within: .seconds(60)) { try await look().status == "degraded" }
                #expect(isCutOff)
            }
        }
    }

    @Test("Distributes reads among replicas and keeps serving them when one stops")
    func severalReplicas() async throws {
        try await ReplicatedCluster.run(replicas: 2) { cluster in
            let options: JSONObject = ["readReplicaURIs": .array(cluster.replicaURIs.map { .string($0) })]
            try await TestServer.run(on: cluster.primaryURI, options) { server in
                _ = try await server.create("Post", ["title": "a"])
                let find: JSONObject = ["readPreference": "SECONDARY"]
                let scans = "SELECT seq_scan::text FROM pg_stat_user_tables WHERE relname = 'Post'"
                for uri in cluster.replicaURIs {
                    let isAsked = try await eventually {
                        _ = try await server.find("Post", find).succeeded()
                        return (Int(try await TestServer.texts(scans, on: uri).first ?? "") ?? 0) > 0
                    }
                    #expect(isAsked)
                }
                try await cluster.stopReplica(0)
                for _ in 0..<50 {
                    let found = try await server.find("Post", find)
                    #expect(found.results.count == 1, "\(found.text)")
                }
            }
        }
    }

    /// Waits until a frozen replica has exceeded the time limit of a response.
    private static func silence(at port: Int) async throws {
        var looks = 0
        let isAsked = try await eventually {
            let asked = try await TestServer.metrics(at: port)[#"roost_database_requests_in_flight{server="replica"}"#]
            looks = asked ?? 0 > 0 ? looks + 1 : 0
            return looks == 5
        }
        #expect(isAsked)
        // The time limit is five seconds from the first request.
        try await Task.sleep(for: .seconds(6))
    }

    @Test("A frozen replica delays no read that another replica or the primary can serve")
    func frozenReplica() async throws {
        try await ReplicatedCluster.run(replicas: 2) { cluster in
            let options: JSONObject = [
                "readReplicaURIs": .array(cluster.replicaURIs.map { .string($0) }), "maxReplicaLag": 5000,
            ]
            try await TestServer.run(on: cluster.primaryURI, options) { server in
                try await Self.replicatedPost(server)
                try cluster.signalReplica(SIGSTOP)
                defer { try? cluster.signalReplica(SIGCONT) }
                // Until then, a read may go to the replica and wait.
                try await Task.sleep(for: .seconds(5.5))
                for _ in 0..<20 {
                    #expect(try await Self.title(server, "SECONDARY") == "a")
                    #expect(try await Self.title(server, "NEAREST") == "a")
                }
            }
        }
    }

    @Test("Without maxReplicaLag, reads that may use the primary don't wait for a frozen replica")
    func silentReplica() async throws {
        try await ReplicatedCluster.run { cluster in
            let port = try await FreePort.find()
            let options: JSONObject = [
                "readReplicaURI": .string(cluster.replicaURI), "metrics": ["port": .number(Double(port))],
            ]
            try await TestServer.run(on: cluster.primaryURI, options) { server in
                try await Self.replicatedPost(server)
                try cluster.signalReplica(SIGSTOP)
                defer { try? cluster.signalReplica(SIGCONT) }
                try await Self.silence(at: port)
                for _ in 0..<20 { #expect(try await Self.title(server, "NEAREST") == "a") }
            }
        }
    }

    @Test("Most reads don't wait for a replica that stays frozen")
    func staysSilent() async throws {
        try await ReplicatedCluster.run { cluster in
            let port = try await FreePort.find()
            let options: JSONObject = [
                "readReplicaURI": .string(cluster.replicaURI), "statementTimeout": 3000,
                "metrics": ["port": .number(Double(port))],
            ]
            try await TestServer.run(on: cluster.primaryURI, options) { server in
                try await Self.replicatedPost(server)
                try cluster.signalReplica(SIGSTOP)
                defer { try? cluster.signalReplica(SIGCONT) }
                try await Self.silence(at: port)
                // Waiting reads would be slow, and the replica is tried again from time to time.
                let end = ContinuousClock.now + .seconds(15)
                var times: [Duration] = []
                while ContinuousClock.now < end {
                    let start = ContinuousClock.now
                    let title = try await Self.title(server, "NEAREST")
                    #expect(title == "a")
                    times.append(ContinuousClock.now - start)
                    try await Task.sleep(for: .milliseconds(50))
                }
                #expect(times.count { $0 >= .seconds(3) } * 2 < times.count, "\(times)")
            }
        }
    }

    @Test("Reads go to the primary without delay if the replicas refuse connections")
    func refusingReplicas() async throws {
        try await ReplicatedCluster.run(replicas: 2) { cluster in
            let options: JSONObject = ["readReplicaURIs": .array(cluster.replicaURIs.map { .string($0) })]
            try await TestServer.run(on: cluster.primaryURI, options) { server in
                try await Self.replicatedPost(server)
                try await cluster.refuseConnections()
                // Each read that waited for a connection would take at least two seconds.
                let isAtOnce = try await eventually(within: .seconds(60)) {
                    let start = ContinuousClock.now
                    // An aggregation uses its own connection.
                    let answer = try await server.send(
                        "GET", "/aggregate/Post",
                        ["pipeline": [["$group": ["_id": "$title"]]], "readPreference": "SECONDARY_PREFERRED"],
                        as: .master)
                    #expect(answer.results.count == 1, "\(answer.text)")
                    return ContinuousClock.now - start < .seconds(1.5)
                }
                #expect(isAtOnce)
            }
        }
    }

    @Test("Doesn't read from a replica that was promoted and has diverged")
    func divergedReplica() async throws {
        try await ReplicatedCluster.run { cluster in
            let options: JSONObject = ["readReplicaURI": .string(cluster.replicaURI), "maxReplicaLag": 5000]
            try await TestServer.run(on: cluster.primaryURI, options) { server in
                let post = try await Self.replicatedPost(server)
                try await cluster.promote(0)
                // The replica's WAL position is ahead of the primary's.
                try await TestServer.execute(
                    "CREATE TABLE filler AS SELECT generate_series(1, 100000)", on: cluster.replicaURI)
                _ = try await server.send("PUT", "/classes/Post/\(post)", ["title": "b"]).succeeded()
                let isLeftOut = try await eventually { try await Self.title(server, "NEAREST") == "b" }
                #expect(isLeftOut)
                for _ in 0..<20 {
                    let title = try await Self.title(server, "NEAREST")
                    #expect(title == "b")
                }
            }
        }
    }

    @Test("A read-only server starts on a standby, answers reads and rejects writes with 119")
    func readOnly() async throws {
        try await ReplicatedCluster.run { cluster in
            try await TestServer.run(on: cluster.primaryURI, ["filesAdapter": "postgres"]) { primary in
                let anna = try await primary.signUp("anna")
                _ = try await primary.create("Post", ["title": "a"], as: .session(anna.token))
                let file = try await primary.send("POST", "/files/a.txt", bytes: [0x61], as: .master).string("name")
                try await cluster.waitForReplica()
                let standby = TestServer(url: primary.url, databaseURI: cluster.replicaURI)
                try await standby.alongside(["readOnly": true, "filesAdapter": "postgres"]) { server in
                    let download = try await server.send(
                        "GET", "/files/\(TestServer.applicationID)/\(file)", as: .nobody)
                    #expect(download.text == "a")
                    #expect(try await server.find("Post").results.first?["title"] == "a")
                    let me = try await server.send("GET", "/users/me", as: .session(anna.token))
                    #expect(me["username"] == "anna")
                    let credentials: JSONValue = ["username": "anna", "password": "secret"]
                    for (method, path, body) in [
                        ("POST", "/classes/Post", ["title": "b"]),
                        ("POST", "/users", ["username": "b", "password": "c"]),
                        ("POST", "/login", credentials), ("GET", "/login", credentials),
                        ("DELETE", "/classes/Post/x", nil),
                        ("PUT", "/config", ["params": ["a": 1]]), ("POST", "/schemas/New", [:]),
                    ] as [(String, String, JSONValue?)] {
                        let answer = try await server.send(method, path, body, as: .master)
                        #expect(answer.code == 119, "\(method) \(path): \(answer.text)")
                    }
                    let calls: JSONValue = [
                        "requests": [
                            ["method": "GET", "path": "/parse/classes/Post"],
                            ["method": "POST", "path": "/parse/classes/Post", "body": ["title": "b"]],
                        ]
                    ]
                    let batch = try await server.send("POST", "/batch", calls).text
                    #expect(batch.contains("\"title\":\"a\"") && batch.contains("\"code\":119"), "\(batch)")
                    let create: JSONValue = [
                        "method": "POST", "path": "/parse/classes/Post", "body": ["title": "b"],
                    ]
                    let creates = try await server.send("POST", "/batch", ["requests": [create, create]])
                    #expect(
                        creates.json.arrayValue?.allSatisfy { $0["error"]?["code"] == 119 } == true, "\(creates.text)")
                    let transaction = try await server.send(
                        "POST", "/batch", ["transaction": true, "requests": [create, create]])
                    #expect(transaction.text.contains("119"), "\(transaction.text)")
                    // Changes on the primary are visible here.
                    _ = try await primary.create("Fresh", ["n": 1])
                    let isKnown = try await eventually { try await server.find("Fresh").results.count == 1 }
                    #expect(isKnown)
                }
            }
        }
    }
}
