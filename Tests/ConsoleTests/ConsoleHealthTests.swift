import App
import Console
import Foundation
import JSON
import TestSupport
import Testing

@Suite("Health and settings in the console")
struct ConsoleHealthTests {
    private static func end(_ begun: TestAnswer, _ browser: ConsoleBrowser) async throws -> JSONValue {
        try #require(begun.status == 202, "\(begun.text)")
        let id = try #require(begun["id"]?.stringValue)
        let end = ContinuousClock.now + .seconds(120)
        var task = try await browser.send("GET", "/console/api/tasks/\(id)?wait=20")
        while task["state"] == "running", ContinuousClock.now < end {
            task = try await browser.send("GET", "/console/api/tasks/\(id)?wait=20")
        }
        return task.json
    }

    @Test("A full disk degrades the server with PostgreSQL's message until a write succeeds")
    func fullDisk() async throws {
        let words = "could not extend file base/5/16384: No space left on device"
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "a"])
            let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
            func ready() async throws -> TestAnswer { try await server.send("GET", "/health/ready", as: .nobody) }
            func waitUntil(_ status: String, writes: JSONValue) async throws -> Bool {
                try await eventually(within: .seconds(60)) {
                    let answer = try await ready()
                    return answer.status == 200 && answer.json["status"]?.stringValue == status
                        && answer["checks"]?["databaseWrites"]?["status"] == writes
                }
            }
            #expect(try await waitUntil("ready", writes: "up"))
            try await server.execute(
                """
                CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    RAISE EXCEPTION '\(words)' USING ERRCODE = '53100';
                END $$;
                CREATE TRIGGER full_disk BEFORE INSERT ON "Song" FOR EACH ROW EXECUTE FUNCTION full_disk();
                """)
            #expect(try await server.send("POST", "/classes/Song", ["title": "b"], as: .master).status == 500)
            #expect(try await waitUntil("degraded", writes: "down"))
            // Only operators see the reason.
            #expect(try await !ready().text.contains("No space left"))
            let health = try await developer.send("GET", "/console/api/health")
            #expect(health["checks"]?["databaseWrites"]?["reason"]?.stringValue == words, "\(health.text)")
            #expect(health["checks"]?["database"]?["status"] == "up")
            try await server.execute("DROP TRIGGER full_disk ON \"Song\"")
            _ = try await server.create("Song", ["title": "c"])
            #expect(try await waitUntil("ready", writes: "up"))
        }
    }

    @Test("Owners can fix a finding of the doctor, with one audit entry; developers can't")
    func fix() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "a"])
            try await server.execute(
                """
                CREATE TABLE "_Join:fans:Song" ("relatedId" text, "owningId" text, PRIMARY KEY ("relatedId", "owningId"));
                UPDATE "_SCHEMA" SET "schema" = jsonb_set("schema"::jsonb, '{fields,fans}',
                    '{"type": "Relation", "targetClass": "_User"}') WHERE "className" = 'Song';
                """)
            let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let before = try await developer.send("GET", "/console/api/health")
            #expect(before.status == 200 && before["doctor"] == nil && before["mails"]?["waiting"] == 0)
            // The task goes on after its connection has closed, as behind a proxy.
            let begun = try await developer.send(
                "POST", "/console/api/doctor", [:], headers: ["Connection": "close"])
            let looked = try await Self.end(begun, developer)
            #expect(looked["state"] == "done", "\(looked.text)")
            func finding() async throws -> JSONValue? {
                try await developer.send("GET", "/console/api/health")["doctor"]?["findings"]?.arrayValue?.first {
                    $0["subject"] == "Song.fans" && $0["kind"] == "missing-index"
                }
            }
            let found = try #require(try await finding())
            #expect(found["severity"] == "warning" && found["fix"]?["statements"]?.arrayValue?.count == 1)
            let id = try #require(found["id"])
            #expect(try await developer.send("POST", "/console/api/doctor/fix", ["id": id]).status == 403)
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let wrong: [JSONValue] = [[:], ["id": "nothing"], ["id": 1], ["id": ["a": 1]]]
            for body in wrong {
                #expect(try await owner.send("POST", "/console/api/doctor/fix", body).status == 404)
            }
            let fixed = try await Self.end(
                try await owner.send("POST", "/console/api/doctor/fix", ["id": id]), owner)
            #expect(fixed["state"] == "done", "\(fixed.text)")
            let later = try await finding()
            #expect(later == nil, "\(later?.text ?? "")")
            #expect(try await owner.send("POST", "/console/api/doctor/fix", ["id": id]).status == 404)
            let rows = try await owner.audit().filter { $0["path"] == "doctor/fix" }
            #expect(rows.count == 1 && rows[0]["status"] == 200 && rows[0]["fields"] == ["missing-index", "Song.fans"])
        }
    }

    @Test("Reports the free space of the data folder, of a folder of files elsewhere, and of none without both")
    func disks() async throws {
        func folders(_ options: JSONObject, _ data: String? = nil) async throws -> [String?] {
            var extensions = ServerExtensions()
            if let data {
                extensions.deployment = try Deployment(
                    arguments: ["--dataDir", data], environment: [:], needsKeys: false)
            }
            return try await TestServer.run(options, extensions: extensions) { server in
                let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
                let health = try await developer.send("GET", "/console/api/health")
                return try #require(health["disks"]?.arrayValue, "\(health.text)").map { disk in
                    let (free, size) = (disk["free"]?.numberValue ?? -1, disk["size"]?.numberValue ?? -1)
                    #expect(free >= 0 && free <= size && size > 0, "\(health.text)")
                    return disk["folder"]?.stringValue
                }
            }
        }
        let files = FileManager.default.temporaryDirectory.path
        let inDatabase: JSONObject = ["filesAdapter": ["module": "postgres", "options": [:]]]
        #expect(try await folders(inDatabase) == [])
        #expect(try await folders(inDatabase, "/usr") == ["/usr"])
        #expect(try await folders([:], files) == [files])
        let both = try await folders([:], "/usr")
        #expect(both.count == 2 && both[1]?.hasPrefix(files + "/roost-test-") == true, "\(both)")
    }

    @Test("Fixes and backups require a recent confirmation")
    func confirmation() async throws {
        try await TestServer.run { server in
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            try await server.execute(
                """
                UPDATE "_roost_operator_session" SET "confirmedAt" = now() - interval '16 minutes'
                """)
            for path in ["doctor/fix", "backups", "backups/x.tar"] {
                let answer = try await owner.send("POST", "/console/api/\(path)", ["id": "a"])
                #expect(answer.status == 403 && answer["needs"] == "confirm", "\(path) \(answer.text)")
            }
        }
    }

    @Test("Developers can check push keys without sending notifications")
    func pushKeys() async throws {
        let path = "/console/api/push/check"
        try await PushSink.run { sink in
            let port = try await FreePort.find()
            let entries: JSONValue = ["ios": sink.apple("app.one"), "osx": sink.identity.apple("app.two", port: port)]
            let lines = LogLines()
            try await TestServer.run(["push": entries], logger: lines.logger) { server in
                let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
                let answer = try await developer.send("POST", path, [:])
                let findings = try #require(answer["findings"]?.arrayValue)
                #expect(findings.map { $0["type"] } == ["ios", "ios", "osx", "osx"], "\(answer.text)")
                #expect(findings.map { $0["problem"] != .null } == [false, false, false, true], "\(answer.text)")
                #expect(findings[3]["problem"]?.stringValue?.contains("no connection") == true, "\(answer.text)")
                #expect(sink.tokens.isEmpty)
                #expect(!lines.all.contains { $0.contains("sending is paused") }, "\(lines.all)")
                for path in [path, "/console/api/doctor"] {
                    let refused = try await developer.send("POST", path, ["app": "one"])
                    #expect(refused.status == 400 && refused.text.contains("app is not supported"), "\(refused.text)")
                }
                let editor = try await ConsoleBrowser.operatorBrowser(server, "editor")
                #expect(try await editor.send("POST", path, [:]).status == 403)
            }
        }
        try await TestServer.run { server in
            let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
            #expect(try await developer.send("POST", path, [:]).status == 409)
        }
    }

    @Test("Reports the source and default of settings, without secrets")
    func settings() async throws {
        let values: JSONObject = [
            "webhookKey": "SECRET-hook", "encryptionKey": "SECRET-files-of-thirty-two-bytes",
            "metrics": ["port": 0, "key": "SECRET-metrics"], "slowQueryThreshold": 500,
            "adminKeys": ["ops": .string(String(repeating: "ab", count: 32))],
            "emailAdapter": [
                "module": "smtp",
                "options": [
                    "host": "127.0.0.1", "from": "a@m.example", "auth": ["user": "kim", "pass": "SECRET-mail"],
                    "templates": ["passwordResetEmail": ["subject": "Reset", "text": "{{link}}"]],
                ],
            ],
        ]
        try await TestServer.run(values) { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let answer = try await browser.send("GET", "/console/api/settings")
            #expect(answer.status == 200)
            for secret in ["SECRET", "abababab", TestServer.masterKey, TestServer.restKey, server.databaseURI] {
                #expect(!answer.text.contains(secret), "\(secret)")
            }
            func setting(_ name: JSONValue) -> JSONValue? {
                answer["settings"]?.arrayValue?.first { $0["name"] == name }
            }
            #expect(setting("masterKey")?["isSecret"] == true && setting("masterKey")?["value"] == nil)
            let mail = setting("passwordResetEmail")
            #expect(mail?["source"] == "file" && mail?["value"]?["subject"]?["default"] == "Reset")
            #expect(setting("rateLimit")?["example"]?.arrayValue?.count == 1)
            #expect(setting("metrics")?["value"] == ["port": 0, "key": "•••"])
            #expect(
                setting("slowQueryThreshold")?["value"] == 500 && setting("slowQueryThreshold")?["source"] == "file")
            #expect(setting("slowQueryThreshold")?["default"] == "1000")
            #expect(setting("statementTimeout")?["source"] == "default" && setting("statementTimeout")?["value"] == nil)
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let editor = try await ConsoleBrowser.operatorBrowser(server, "editor")
            for path in ["settings", "health"] {
                #expect(try await viewer.send("GET", "/console/api/\(path)").status == 403, "\(path)")
                #expect(try await editor.send("GET", "/console/api/\(path)").status == 403, "\(path)")
            }
            #expect(try await viewer.send("POST", "/console/api/doctor", [:]).status == 403)
        }
    }
}
