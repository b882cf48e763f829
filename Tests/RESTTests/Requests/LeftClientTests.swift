import JSON
import TestSupport
import Testing

@Suite("A client that disconnects before the response")
struct LeftClientTests {
    @Test("A disconnected client's request counts as client_closed and is logged as aborted, without a status")
    func left() async throws {
        let lines = LogLines()
        let port = try await FreePort.find()
        let options: JSONObject = ["metrics": ["port": .number(Double(port))], "lockTimeout": 60_000]
        try await TestServer.run(options, logger: lines.logger) { server in
            _ = try await server.create("Song", ["n": 1])
            let family = "http_server_request_duration_seconds_count"
            let labels = #"http_request_method="GET",http_route="/classes/{className}","#
            try await server.whileLocked("LOCK TABLE \"Song\" IN ACCESS EXCLUSIVE MODE") {
                let count = Task {
                    try await server.find("Song", ["where": ["n": ["$gt": 0]], "count": 1, "limit": 0])
                }
                let waits = try await server.waitsForLocks()
                #expect(waits)
                count.cancel()
                let isCounted = try await eventually(within: .seconds(60)) {
                    try await TestServer.metrics(at: port)[
                        "\(family){\(labels)error_type=\"client_closed\"}"] == 1
                }
                #expect(isCounted)
            }
            let samples = try await TestServer.metrics(at: port)
            #expect(samples.names(beginningWith: "\(family){\(labels)http_response_status_code").isEmpty)
            let isLogged = try await eventually {
                lines.all.contains { $0.contains("aborted=true") && !$0.contains("status=") }
            }
            #expect(isLogged)
        }
    }
}
