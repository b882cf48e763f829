import Foundation
import JSON
import TestSupport
import TestTools
import Testing

@Suite("Server metrics")
struct MetricsTests {
    private static let durations = "http_server_request_duration_seconds"

    @Test("Counts every request once, by route, method and status")
    func counts() async throws {
        try await TestServer.runMeasured { server, port in
            let song = try await server.create("Song", ["n": 1])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<8 {
                    group.addTask {
                        for request in 0..<125 {
                            switch request % 5 {
                            case 0: _ = try await server.send("GET", "/classes/Song/\(song)")
                            case 1: _ = try await server.send("GET", "/classes/Song/nothing\(client)")
                            case 2: _ = try await server.find("Song")
                            case 3: _ = try await server.send("GET", "/health", as: .nobody)
                            // This server has a separate metrics port.
                            case 4 where request % 2 == 0: _ = try await server.send("GET", "/metrics")
                            default: _ = try await server.send("GET", "/unheard/of/\(request)")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            // A request is counted after its response was sent, so the client may see the response first.
            let get = #"http_request_method="GET","#
            let isCounted = try await eventually {
                let samples = try await TestServer.metrics(at: port)
                return samples.sum(Self.durations + "_count") >= 1001
            }
            #expect(isCounted)
            let samples = try await TestServer.metrics(at: port)
            func count(_ labels: String) -> Double? { samples["\(Self.durations)_count{\(labels)}"] }
            let object = get + #"http_route="/classes/{className}/{objectId}","#
            #expect(count(object + #"http_response_status_code="200""#) == 200)
            #expect(count(object + #"http_response_status_code="404""#) == 200)
            #expect(count(get + #"http_route="/classes/{className}",http_response_status_code="200""#) == 200)
            #expect(count(get + #"http_route="/health",http_response_status_code="200""#) == 200)
            #expect(count(get + #"http_response_status_code="404""#) == 200)
            #expect(samples.sum(Self.durations + "_count") == 1001)
            #expect(samples["http_server_active_requests"] == 0)
            for name in samples.names(beginningWith: Self.durations + "_count") {
                let labels = name.dropFirst((Self.durations + "_count{").count).dropLast()
                let ends = [
                    "0.005", "0.01", "0.025", "0.05", "0.075", "0.1", "0.25", "0.5", "0.75", "1", "2.5", "5", "7.5",
                    "10",
                ]
                let buckets = (ends + ["+Inf"]).map {
                    samples["\(Self.durations)_bucket{\(labels),le=\"\($0)\"}"] ?? -1
                }
                #expect(buckets == buckets.sorted())
                #expect(buckets.last == samples[name])
            }
        }
    }

    @Test("Metrics pass promtool and cover log-ins, queries, caches, connection pools and the process")
    func lint() async throws {
        try await TestServer.runMeasured(["accountLockout": ["threshold": 3, "duration": 1]]) { server, port in
            let user = try await server.signUp("anna")
            _ = try await server.create("Song", ["n": 1])
            _ = try await server.find("Song", ["count": 1, "limit": 0])
            _ = try await server.send("GET", "/aggregate/Song?pipeline=[]", as: .master)
            _ = try await server.send("GET", "/users/me", as: .session(user.token))
            _ = try await server.send("POST", "/login", ["username": "anna", "password": "secret"])
            for _ in 0..<5 { _ = try await server.send("POST", "/login", ["username": "anna", "password": "wrong"]) }
            let samples = try await TestServer.metrics(at: port)
            let outcome = try await Promtool.run(["check", "metrics"], input: samples.text)
            #expect(outcome.status == 0 && outcome.output.isEmpty, "\(outcome.output)")
            #expect(samples[#"roost_logins_total{method="password",result="ok"}"#] == 1)
            #expect(samples[#"roost_logins_total{method="password",result="wrong"}"#] == 3)
            #expect(samples[#"roost_logins_total{method="password",result="locked"}"#] == 2)
            #expect(samples[#"db_client_operation_duration_seconds_count{db_operation_name="count"}"#] == 1)
            #expect(samples[#"db_client_operation_duration_seconds_count{db_operation_name="aggregate"}"#] == 1)
            #expect(samples[#"roost_cache_requests_total{cache="session",result="miss"}"#] == 1)
            #expect(samples["roost_database_up"] == 1)
            for pool in ["shared", "transactions", "heavyReads", "listeners"] {
                let labels = #"pool="\#(pool)",server="primary""#
                #expect(samples["db_client_connections{\(labels),state=\"used\"}"] != nil)
                #expect(samples["db_client_connection_pending_requests{\(labels)}"] == 0)
            }
            let shared = samples.sum(#"db_client_connections{pool="shared",server="primary""#)
            #expect(shared >= 1)
            #expect(samples["roost_password_hash_duration_seconds_count"] ?? 0 >= 5)
            #expect(samples["process_resident_memory_bytes"] ?? 0 > 1_000_000)
            #expect(samples.names(beginningWith: "roost_build_info").count == 1)
        }
    }

    @Test("Serves OpenMetrics and gzip to clients that accept them")
    func formats() async throws {
        try await TestServer.runMeasured { server, port in
            _ = try await server.create("Song", ["n": 1])
            func read(_ headers: [String: String]) async throws -> TestAnswer {
                try await TestServer(url: "http://127.0.0.1:\(port)", databaseURI: "").send(
                    "GET", "/metrics", as: .nobody, headers: headers)
            }
            let plain = try await read([:])
            #expect(plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            let accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
            let open = try await read(["Accept": accept])
            #expect(open.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8")
            #expect(open.text.hasSuffix("\n# EOF\n"))
            #expect(open.text.contains("# TYPE roost_logins counter\n"))
            #expect(open.text.contains("\nroost_logins_total{"))
            #expect(open.text.contains(#"le="1.0""#) && !open.text.contains(#"le="1""#))
            #expect(plain.text.contains("# TYPE roost_logins_total counter\n") && !plain.text.contains("# EOF"))
            let packed = try await Program.run(
                ["curl", "-s", "--compressed", "-D", "-", "http://127.0.0.1:\(port)/metrics"])
            #expect(packed.output.lowercased().contains("content-encoding: gzip"), "\(packed.output.prefix(500))")
            #expect(packed.output.contains("# TYPE roost_logins_total counter\n"))
        }
    }

    @Test("Counts a batch as one request, and never uses names made up by clients as labels")
    func cardinality() async throws {
        try await TestServer.runMeasured { server, port in
            let calls = (0..<20).map {
                JSONValue.object(["method": "POST", "path": "/parse/classes/Song", "body": ["n": .number(Double($0))]])
            }
            _ = try await server.send("POST", "/batch", ["requests": .array(calls)])
            let before = try await TestServer.metrics(at: port)
            #expect(before.sum(Self.durations + "_count{http_request_method=\"POST\",http_route=\"/batch\"") == 1)
            for number in 0..<300 {
                _ = try await server.send("GET", "/r\(number)/\(number)")
                _ = try await server.send("GET", "/classes/C\(number)")
                _ = try await server.send("POST", "/classes/Song", ["_method": .string("M\(number)")])
            }
            let after = try await TestServer.metrics(at: port)
            // At most three new label sets with 17 series each for requests, and as many for database operations.
            #expect(after.count - before.count <= 80, "\(after.count - before.count)")
            #expect(!after.text.contains("C299") && !after.text.contains("M299"))
        }
    }

    private static func reader(_ port: Int) -> TestServer {
        TestServer(url: "http://127.0.0.1:\(port)", databaseURI: "")
    }

    @Test("Rejects concurrent scrapes with 503, while API requests are served")
    func readers() async throws {
        try await TestServer.runMeasured { server, port in
            let song = try await server.create("Song", ["n": 1])
            let isRead = Latch()
            async let served = concurrently(4) { _ in
                var statuses: Set<Int> = []
                repeat {
                    statuses.insert(try await server.send("GET", "/classes/Song/\(song)").status)
                } while !isRead.isOpen
                return statuses
            }
            var statuses: [Int: Int] = [:]
            // Concurrent hashing requires more than one processor.
            let isShared = ProcessInfo.processInfo.activeProcessorCount > 1
            let areSentAway = try await eventually(within: .seconds(120)) {
                let answers = try await concurrently(50) { _ in
                    try await Self.reader(port).send("GET", "/metrics", as: .nobody).status
                }
                for status in answers { statuses[status, default: 0] += 1 }
                return statuses[503] != nil || !isShared
            }
            isRead.open()
            #expect(areSentAway)
            #expect(statuses[200] ?? 0 > 0)
            #expect(Set(statuses.keys).isSubset(of: [200, 503]), "\(statuses)")
            let others = try await served
            #expect(others.allSatisfy { $0 == [200] })
            let last = try await Self.reader(port).send("GET", "/metrics", as: .nobody)
            #expect(last.status == 200)
        }
    }

    /// The used connections of a pool, and the numbers of waiting and timed-out requests.
    private static func lent(_ pool: String, at port: Int) async throws -> (used: Int, pending: Int, timeouts: Int) {
        let samples = try await TestServer.metrics(at: port)
        func value(_ name: String, _ more: String = "") -> Int {
            Int(samples["\(name){pool=\"\(pool)\",server=\"primary\"\(more)}"] ?? -1)
        }
        return (
            value("db_client_connections", ",state=\"used\""), value("db_client_connection_pending_requests"),
            value("db_client_connection_timeouts_total")
        )
    }

    @Test("Reports how many aggregations use a connection and how many wait for one")
    func aggregations() async throws {
        let options: JSONObject = [
            "lockTimeout": 60_000, "statementTimeout": 60_000,
            "databaseOptions": ["sharedConnections": 2, "heavyStatements": 3],
        ]
        try await TestServer.runMeasured(options) { server, port in
            _ = try await server.create("Song", ["n": 1])
            let waiting = try await server.whileLocked("LOCK TABLE \"Song\" IN ACCESS EXCLUSIVE MODE") {
                let waiting = Task {
                    try await concurrently(20) { _ in
                        let pipeline: JSONValue = ["pipeline": [["$group": ["_id": "$n"]]]]
                        return try await server.send("GET", "/aggregate/Song", pipeline, as: .master).status
                    }
                }
                let isFull = try await eventually { try await Self.lent("heavyReads", at: port) == (3, 17, 0) }
                #expect(isFull)
                return waiting
            }
            let statuses = try await waiting.value
            #expect(statuses == Array(repeating: 200, count: 20))
            let isFree = try await eventually { try await Self.lent("heavyReads", at: port) == (0, 0, 0) }
            #expect(isFree)
        }
    }

    @Test("Counts transactions whose wait for a connection timed out")
    func timeouts() async throws {
        let options: JSONObject = [
            "connectionTimeout": 1000, "lockTimeout": 60_000,
            "databaseOptions": ["sharedConnections": 2, "poolSize": 4],
        ]
        try await TestServer.runMeasured(options) { server, port in
            _ = try await server.create("Song", ["n": 1])
            let call: JSONValue = ["method": "POST", "path": "/parse/classes/Song", "body": ["n": 2]]
            let batch: JSONValue = ["transaction": true, "requests": [call, call]]
            let waiting = try await server.whileLocked("LOCK TABLE \"Song\" IN ACCESS EXCLUSIVE MODE") {
                let waiting = Task {
                    try await concurrently(10) { _ in try await server.send("POST", "/batch", batch, as: .master).status
                    }
                }
                let areCounted = try await eventually {
                    let now = try await Self.lent("batches", at: port)
                    return now.used == 2 && now.pending == 0 && now.timeouts >= 8
                }
                #expect(areCounted)
                return waiting
            }
            let statuses = try await waiting.value
            #expect(statuses.count { $0 == 200 } == 2, "\(statuses)")
        }
    }

    @Test("Readiness probes don't each query the database")
    func probes() async throws {
        try await TestServer.runMeasured { server, port in
            let song = try await server.create("Song", ["n": 1])
            let name = server.databaseURI.split(separator: "/").last ?? ""
            func transactions() async throws -> Int {
                let count = "SELECT xact_commit::text FROM pg_stat_database WHERE datname = '\(name)'"
                return Int(try await TestServer.texts(count, on: TestServer.cluster).first ?? "") ?? 0
            }
            let before = try await transactions()
            _ = try await concurrently(20) { _ in
                for _ in 0..<100 {
                    let ready = try await Self.reader(port).send("GET", "/ready", as: .nobody)
                    #expect(ready.status == 200)
                    let main = try await server.send("GET", "/health/ready", as: .nobody)
                    #expect(main.status == 200)
                }
            }
            // These finds prove that finds are counted, with a delay of a few seconds at most.
            let end = ContinuousClock.now
            var (asked, found) = (0, 0)
            let isCounted = try await eventually(within: .seconds(60)) {
                for _ in 0..<10 { _ = try await server.send("GET", "/classes/Song/\(song)") }
                asked += 10
                found = try await transactions() - before
                return asked >= 500 && found >= 500 && ContinuousClock.now - end > .seconds(5)
            }
            #expect(isCounted, "\(found) of \(asked)")
            #expect(found < asked + 1000, "\(found) for \(asked) requests")
        }
    }

    @Test("Metrics require their own key on the main port, but none on the metrics port")
    func keys() async throws {
        try await TestServer.runMeasured(["metrics": ["onMainPort": true, "key": "watcher"]]) { server, port in
            func status(_ authorization: String?, as identity: TestServer.Identity = .nobody) async throws -> Int {
                let headers = authorization.map { ["Authorization": $0] } ?? [:]
                return try await server.send("GET", "/metrics", as: identity, headers: headers).status
            }
            let none = try await server.send("GET", "/metrics", as: .nobody)
            #expect(none.status == 401)
            #expect(none.headers["www-authenticate"]?.hasPrefix("Bearer") == true)
            #expect(try await status("Bearer watche") == 401)
            #expect(try await status("Bearer \(TestServer.masterKey)", as: .master) == 401)
            #expect(try await status("Bearer watcher") == 200)
            // metrics:watcher
            #expect(try await status("Basic bWV0cmljczp3YXRjaGVy") == 200)
            let own = try await TestServer(url: "http://127.0.0.1:\(port)", databaseURI: "").send(
                "GET", "/metrics", as: .nobody)
            #expect(own.status == 200)
            #expect(own.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            #expect(own.headers["access-control-allow-origin"] == nil)
        }
        try await TestServer.run { server in
            let answer = try await server.send("GET", "/metrics", as: .master)
            #expect(answer.status == 404)
        }
    }

    @Test("Health routes report liveness and readiness")
    func health() async throws {
        try await TestServer.run { server in
            let live = try await server.send("GET", "/health/live", as: .nobody)
            #expect(live.status == 200)
            #expect(live["status"] == "live")
            let ready = try await server.send("GET", "/health/ready", as: .nobody)
            #expect(ready.status == 200)
            #expect(ready["status"] == "ready")
            #expect(ready["checks"]?["database"]?["status"] == "up")
            let health = try await server.send("GET", "/health", as: .nobody)
            #expect(health.json == ["status": "ok"])
        }
    }
}
