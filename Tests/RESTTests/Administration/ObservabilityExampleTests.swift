import Foundation
import JSON
import TestSupport
import TestTools
import Testing

@Suite("Observability examples")
struct ObservabilityExampleTests {
    private static func path(_ name: String) -> String { Checkout.path("examples/observability/\(name)") }

    @Test("Alert rules are valid, pass their tests and are all tested and documented")
    func rules() async throws {
        for arguments in [
            ["check", "config", Self.path("prometheus.yml")], ["check", "rules", Self.path("alerts.yml")],
            ["test", "rules", Self.path("alerts_test.yml")],
        ] {
            let outcome = try await Promtool.run(arguments)
            #expect(outcome.status == 0, "\(outcome.output)")
        }
        let rules = try String(contentsOfFile: Self.path("alerts.yml"), encoding: .utf8)
        let tests = try String(contentsOfFile: Self.path("alerts_test.yml"), encoding: .utf8)
        let names = rules.matches(of: /- alert: (\w+)/).map { String($0.output.1) }
        #expect(names.count > 10)
        let pages = try String(contentsOfFile: Checkout.path("docs/observability.md"), encoding: .utf8)
        for name in names {
            #expect(tests.contains("alertname: \(name)\n        exp_alerts"), "no test of \(name)")
            #expect(pages.contains("`\(name)`"), "docs/observability.md says nothing of \(name)")
        }
    }

    private static func panels() throws -> [JSONValue] {
        let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path("dashboard.json"))))
        return try JSONValue(parsing: bytes)["panels"]?.arrayValue ?? []
    }

    private static func expressions() throws -> [String] {
        try panels().flatMap { $0["targets"]?.arrayValue ?? [] }.compactMap { $0["expr"]?.stringValue }
    }

    @Test("Dashboard panels don't overlap, and their queries use the selected data source")
    func layout() throws {
        let panels = try Self.panels()
        #expect(Set(panels.compactMap { $0["id"]?.numberValue }).count == panels.count)
        var taken: Set<[Int]> = []
        for panel in panels {
            let place = try ["x", "y", "w", "h"].map { Int(try #require(panel["gridPos"]?[$0]?.numberValue)) }
            #expect(place[0] + place[2] <= 24)
            for x in place[0]..<place[0] + place[2] {
                for y in place[1]..<place[1] + place[3] {
                    #expect(taken.insert([x, y]).inserted, "\(panel["title"] ?? .null) overlaps another")
                }
            }
            for target in panel["targets"]?.arrayValue ?? [] {
                #expect(target["datasource"]?["uid"] == "${datasource}")
                #expect(target["refId"]?.stringValue?.isEmpty == false)
            }
        }
        #expect(try Self.expressions().count > 30)
    }

    @Test("Every dashboard query returns data once Prometheus has scraped a server")
    func dashboard() async throws {
        try await WebhookServer.run { hooks in
            hooks.on("hello") { _ in .success("hi") }
            let port = try await FreePort.find()
            let options: JSONObject = [
                "metrics": ["port": .number(Double(port))], "startLiveQueryServer": true,
                "liveQuery": ["classNames": ["Song"]], "fileUpload": ["enableForPublic": true],
            ]
            try await TestServer.run(options) { server in
                _ = try await server.send(
                    "POST", "/hooks/functions", ["functionName": "hello", "url": .string(hooks.url("hello"))],
                    as: .master)
                _ = try await server.signUp("anna")
                try await Prometheus.run(scraping: port) { prometheus in
                    var silent = try Self.expressions()
                    let areShown = try await eventually(within: .seconds(60)) {
                        try await Self.use(server)
                        var left: [String] = []
                        for expression in silent where try await !prometheus.answers(expression) {
                            left.append(expression)
                        }
                        silent = left
                        return silent.isEmpty
                    }
                    #expect(areShown, "no answer to \(silent)")
                    let (up, samples) = (
                        try await prometheus.value("up"), try await prometheus.value("scrape_samples_scraped")
                    )
                    #expect(up == "1")
                    #expect(samples != "0")
                }
            }
        }
    }

    @Test("Prometheus scrapes the main port with the metrics key, and no scrape fails")
    func mainPort() async throws {
        let options: JSONObject = ["metrics": ["onMainPort": true, "key": "watcher"]]
        try await TestServer.run(options) { server in
            let url = try #require(URL(string: server.url))
            let port = try #require(url.port)
            // A scrape may take as long as the interval, so a busy machine needs a long one.
            let more =
                "scrape_interval: 5s\n    metrics_path: \(url.path)/metrics\n    authorization: {credentials: watcher}"
            try await Prometheus.run(scraping: port, more) { prometheus in
                let isRead = try await eventually(within: .seconds(120)) {
                    let count = try await prometheus.value("count_over_time(up[10m])")
                    return count.flatMap { Double($0) } ?? 0 >= 5
                }
                #expect(isRead)
                let worst = try await prometheus.value("min_over_time(up[10m])")
                #expect(worst == "1")
            }
        }
    }

    /// Uses every kind of route at least once.
    private static func use(_ server: TestServer) async throws {
        let song = try await server.create("Song", ["n": 1])
        _ = try await server.send("GET", "/classes/Song/\(song)")
        _ = try await server.find("Song")
        _ = try await server.send("POST", "/functions/hello", [:])
        _ = try await server.send("POST", "/login", ["username": "anna", "password": "secret"])
        _ = try await server.send("POST", "/files/a.txt", bytes: [97], headers: ["Content-Type": "text/plain"])
    }
}

private struct Prometheus {
    let port: Int

    /// Whether a dashboard query has a non-empty result.
    func answers(_ expression: String) async throws -> Bool {
        var text = expression.replacingOccurrences(of: "$__rate_interval", with: "10s")
        for name in ["$job", "$instance"] { text = text.replacingOccurrences(of: name, with: ".*") }
        return try await value(text)?.isEmpty == false
    }

    func value(_ expression: String) async throws -> String? {
        let outcome = try await Promtool.run(["query", "instant", "http://127.0.0.1:\(port)", expression])
        #expect(outcome.status == 0, "\(expression): \(outcome.output)")
        guard let line = outcome.output.split(separator: "\n").first, let arrow = line.firstRange(of: "=> ") else {
            return nil
        }
        return line[arrow.upperBound...].split(separator: " ").first.map(String.init)
    }

    /// Runs Prometheus while a closure runs.
    ///
    /// - Parameter more: Further settings of the scrape job.
    static func run(
        scraping target: Int, _ more: String = "", _ body: @escaping @Sendable (Prometheus) async throws -> Void
    ) async throws {
        let port = try await FreePort.find()
        let folder = FileManager.default.temporaryDirectory.path + "/roost-prometheus-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let settings = """
            global: {scrape_interval: 1s}
            scrape_configs:
              - job_name: roost
                static_configs: [{targets: ["127.0.0.1:\(target)"]}]
                \(more)
            """
        try Data(settings.utf8).write(to: URL(fileURLWithPath: folder + "/prometheus.yml"))
        let own = Checkout.path(".build/prometheus/usr/bin/prometheus")
        let command = [
            FileManager.default.isExecutableFile(atPath: own) ? own : "prometheus",
            "--config.file=\(folder)/prometheus.yml", "--storage.tsdb.path=\(folder)/data",
            "--web.listen-address=127.0.0.1:\(port)", "--log.level=error",
        ]
        try await Program.run(command) {
            let prometheus = Prometheus(port: port)
            let isUp = try await eventually(within: .seconds(60)) {
                let outcome = try await Promtool.run(["query", "instant", "http://127.0.0.1:\(port)", "up == 1"])
                return outcome.status == 0 && !outcome.output.isEmpty
            }
            try #require(isUp)
            try await body(prometheus)
        }
    }
}
