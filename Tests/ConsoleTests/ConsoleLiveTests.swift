import JSON
import TestSupport
import Testing

@Suite("Live queries in the console")
struct ConsoleLiveTests {
    private static let options: JSONObject = ["liveQuery": ["classNames": ["Live"]], "startLiveQueryServer": true]

    /// The path for events of objects whose `n` is above 1.
    private static func path(_ className: String, watch: String = "w", wait: Int = 0) -> String {
        "/console/api/live/events?watch=\(watch)&className=\(className)"
            + "&where=%7B%22n%22%3A%7B%22%24gt%22%3A1%7D%7D&wait=\(wait)"
    }

    @Test("Delivers each live-query event of a followed class once")
    func events() async throws {
        try await TestServer.run(Self.options) { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            // On a slow machine, a watch may expire before the next request, so the test has several attempts.
            for watch in ["a", "b", "c", "d"] {
                let first = try await browser.send("GET", Self.path("Live", watch: watch))
                #expect(first.status == 200 && first["isNew"] == true && first["events"] == [], "\(first.text)")
                _ = try await server.create("Live", ["n": 0])
                let id = try await server.create("Live", ["n": 2])
                let next = try await browser.send("GET", Self.path("Live", watch: watch, wait: 20))
                if next["isNew"] == true { continue }
                let event = next["events"]?.arrayValue?.first
                #expect(event?["event"] == "create" && event?["object"]?["objectId"] == .string(id), "\(next.text)")
                #expect(next["skipped"] == 0)
                _ = try await server.send("PUT", "/classes/Live/\(id)", ["n": 1], as: .master)
                let last = try await browser.send("GET", Self.path("Live", watch: watch, wait: 20))
                if last["isNew"] == true { continue }
                let left = last["events"]?.arrayValue
                #expect(left?.count == 1 && left?.first?["event"] == "leave" && left?.first?["original"]?["n"] == 2)
                return
            }
            Issue.record("every watch ended before it was asked again")
        }
    }

    @Test("Reports whether live queries are on, and which option is missing")
    func missing() async throws {
        let cases: [(JSONObject, Bool, JSONValue)] = [
            (["liveQuery": ["classNames": ["Live"]]], true, .null),
            (["startLiveQueryServer": true], true, "liveQuery.classNames"),
            (["liveQuery": ["classNames": ["Live"]], "startLiveQueryServer": false], false, "startLiveQueryServer"),
            ([:], false, "liveQuery.classNames"),
        ]
        for (options, isOn, missing) in cases {
            try await TestServer.run(options) { server in
                let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
                let live = try await developer.send("GET", "/console/api/live")
                #expect(live["isOn"] == .bool(isOn) && live["missing"] == missing, "\(options) \(live.text)")
            }
        }
    }

    @Test("Rejects unpublished classes, invalid queries and editors")
    func refusals() async throws {
        try await TestServer.run(Self.options) { server in
            let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let unknown = try await developer.send("GET", Self.path("Other"))
            #expect(unknown.status == 400 && unknown["code"] == 103, "\(unknown.text)")
            let wrong = try await developer.send("GET", "/console/api/live/events?watch=w&className=Live&where=1")
            #expect(wrong.status == 400 && wrong["code"] == 102, "\(wrong.text)")
            let nameless = try await developer.send("GET", "/console/api/live/events?className=Live")
            #expect(nameless.status == 400)
            let editor = try await ConsoleBrowser.operatorBrowser(server, "editor")
            #expect(try await editor.send("GET", Self.path("Live")).status == 403)
        }
    }
}
