import JSON
import TestSupport
import TestTools
import Testing

@Suite("The metrics of a server")
struct MetricsTests {
    private static let durations = "http_server_request_duration_seconds"

    @Test("Every request counts once, under its route, the method that it means, and its status")
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
                            default: _ = try await server.send("GET", "/unheard/of/\(request)")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            // A request counts when its answer has been sent, which its client may see a little earlier.
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

    @Test("promtool has no remark about a server that was used for many things")
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

    @Test("A reader gets OpenMetrics where it asks for it, and packed where it takes that")
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

    @Test("A batch counts once, and what clients make up makes no series")
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
            // Three rows of requests at most, with 17 series each, and the same of the database.
            #expect(after.count - before.count <= 80, "\(after.count - before.count)")
            #expect(!after.text.contains("C299") && !after.text.contains("M299"))
        }
    }

    @Test("On the main port metrics need a key of their own, on their own port of this machine none")
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

    @Test("Health says that the process works, and whether requests should be sent to it")
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
