import Telemetry
import TestTools
import Testing

@Suite("Metrics text format")
struct ExpositionTests {
    @Test("Escapes labels and help text in a format that promtool accepts")
    func escapes() async throws {
        var text = Exposition()
        text.begin("roost_build_info", .gauge, "The \\ version\nof the server.")
        text.add(["version": "1\"2\\3\n4"], 1)
        #expect(
            text.text == """
                # HELP roost_build_info The \\\\ version\\nof the server.
                # TYPE roost_build_info gauge
                roost_build_info{version="1\\"2\\\\3\\n4"} 1

                """)
        let outcome = try await Promtool.run(["check", "metrics"], input: text.text)
        #expect(outcome.status == 0, "\(outcome.output)")
    }

    @Test("All metric families pass promtool without a warning")
    func lint() async throws {
        let meters = Meters(
            requests: RequestMeters(routes: [.init(method: "GET", route: "/classes/{className}")], shards: 2),
            providers: ["github"], limits: 2)
        for status in [0, 200, 404] {
            meters.requests[0].begin()
            meters.requests[0].end(
                row: RequestMeters.firstRoute, status: status, duration: .milliseconds(3), received: 1, sent: 2)
            meters.requests[1].begin()
            meters.requests[1].end(row: 0, status: status, duration: .seconds(20), received: 1, sent: 2)
        }
        for operation in DatabaseMeters.Operation.allCases {
            meters.database.add(operation, .milliseconds(2))
            meters.database.add(operation, .milliseconds(2), errorClass: "57014")
            meters.database.add(operation, .milliseconds(2), errorClass: "none")
        }
        for kind in CloudMeters.Kind.allCases {
            for result in CloudMeters.Result.allCases { meters.cloud.add(kind, .node, result, .seconds(1)) }
        }
        for operation in FileStoreMeters.Operation.allCases {
            for result in FileStoreMeters.Result.allCases { meters.files.add(operation, result, .milliseconds(20)) }
        }
        meters.passwordHashes.record(.milliseconds(70))
        meters.jobs.add(.succeeded, job: "nightly \"one\"", at: 1_700_000_000)
        meters.logins.add(.wrong, method: "password")
        meters.logins.add(.ok, method: "github")
        meters.logins.add(.ok, method: "unheard of")
        var text = Exposition()
        meters.write(to: &text)
        ProcessFigures.write(to: &text)
        let outcome = try await Promtool.run(["check", "metrics"], input: text.text)
        #expect(outcome.status == 0 && outcome.output.isEmpty, "\(outcome.output)")
        let lines = text.text.split(separator: "\n").map(String.init)
        #expect(lines.contains(#"roost_logins_total{method="password",result="wrong"} 1"#))
        #expect(lines.contains(#"roost_logins_total{method="other",result="ok"} 1"#))
        #expect(lines.contains(#"roost_rate_limited_total{limit="cloud"} 0"#))
        #expect(
            lines.contains(#"db_client_operation_duration_seconds_count{db_operation_name="find",error_type="57"} 1"#))
        #expect(
            lines.contains(
                #"http_server_request_duration_seconds_count{http_request_method="GET","#
                    + #"http_route="/classes/{className}",error_type="client_closed"} 1"#))
    }
}
