import FileStores
import JSON
import TestSupport
import TestTools
import Testing

@Suite("Bucket metrics")
struct StoreMetricTests {
    private static let family = "roost_file_store_request_duration_seconds"

    @Test("Counts each bucket request by operation and result, in a format that promtool accepts")
    func counts() async throws {
        let behaviour = S3FaultTests.store { call, _ in
            if call.method == "GET", call.has("absent") { return .error(404, "NoSuchKey") }
            if call.method == "GET", call.has("there") {
                return .reply(200, headers: [("ETag", "\"a\"")], body: "text")
            }
            if call.method == "DELETE" { return .error(403, "AccessDenied") }
            if call.method == "PUT", call.has("broken") { return .error(503, "ServiceUnavailable") }
            return nil
        }
        try await StoreStandIn.run(behaviour) { store in
            try await TestServer.runMeasured(try await BucketServer.adapter(endpointPort: store.port)) { server, port in
                let stored = try await server.send("POST", "/files/a.txt", bytes: [1], as: .master)
                #expect(stored.status == 201, "\(stored.text)")
                let path = "/files/\(TestServer.applicationID)"
                let there = try await server.send("GET", "\(path)/there.txt", as: .nobody)
                #expect(there.status == 200 && there.text == "text")
                let absent = try await server.send("GET", "\(path)/absent.txt", as: .nobody)
                #expect(absent.status == 404)
                let kept = try await server.send("DELETE", "/files/there.txt", as: .master)
                #expect(kept.code == 153)
                let broken = try await server.send("POST", "/files/broken.txt", bytes: [1], as: .master)
                #expect(broken.status == 503)
                let samples = try await TestServer.metrics(at: port)
                func count(_ operation: String, _ result: String) -> Double? {
                    samples["\(Self.family)_count{operation=\"\(operation)\",result=\"\(result)\"}"]
                }
                #expect(count("put", "ok") == 1)
                #expect(count("get", "ok") == 1)
                #expect(count("get", "absent") == 1)
                #expect(count("delete", "refused") == 1)
                // Each attempt counts.
                let tries = store.calls.count { $0.method == "PUT" && $0.has("broken") }
                #expect(count("put", "unavailable") == Double(tries) && tries > 1)
                // Labels contain nothing that clients choose.
                #expect(!samples.text.contains("absent.txt") && !samples.text.contains("broken.txt"))
                let outcome = try await Promtool.run(["check", "metrics"], input: samples.text)
                #expect(outcome.status == 0 && outcome.output.isEmpty, "\(outcome.output)")
            }
        }
    }

    @Test("Exports no bucket metrics if files are stored on disk")
    func disk() async throws {
        try await TestServer.runMeasured { server, port in
            _ = try await server.send("POST", "/files/a.txt", bytes: [1], as: .master).succeeded()
            let samples = try await TestServer.metrics(at: port)
            #expect(samples.names(beginningWith: Self.family).isEmpty)
        }
    }
}
