import Foundation
import JSON
import TestSupport
import Testing

@Suite struct PushTrialRunTests {
    @Test("A dry run reports devices and problems, contacts no service, and changes no badge")
    func dryRun() async throws {
        try await PushFixture.run { server, sink in
            try await PushFixture.fill(server, 1000)
            let badged = try await PushFixture.device(server, "b1", "ios", ["badge": 4, "localeIdentifier": "fr-FR"])
            try await PushFixture.device(server, "not a token", "ios", ["badge": 4])
            try await PushFixture.device(server, "g1", "android")
            try await PushFixture.device(server, "w1", "winrt")
            let row = try await PushFixture.push(
                server,
                [
                    "where": [:], "dry_run": true,
                    "data": ["alert": "x", "alert-fr": "f", "badge": "Increment"],
                ])
            #expect(row["status"] == "succeeded" && row["numSent"] == 0 && row["numFailed"] == nil, "\(row.text)")
            #expect(row["source"] == "dryRun")
            #expect(sink.tokens.isEmpty && sink.connections == 0)
            let report = try await server.send(
                "GET", "/push/\(PushFixture.id(row))/report", as: .master
            ).succeeded()
            #expect(report["deviceTypes"] == ["android": 1, "ios": 1002, "winrt": 1], "\(report.text)")
            #expect(report["locales"] == ["default": 1002, "fr": 1])
            #expect(report["badges"] == ["1": 1001, "5": 2])
            #expect(report["entries"] == ["APNs app.one sandbox": 1002, "FCM songs": 1])
            #expect(report["problems"] == ["BadDeviceToken": 1, "UnsupportedDevice": 1])
            #expect((report["payloadBytes"]?.numberValue ?? 0) > 20)
            let device = try await server.send("GET", "/installations/\(badged)", as: .master)
            #expect(device["badge"] == 4)
            #expect(try await server.send("GET", "/push/\(PushFixture.id(row))/report").status == 403)
            let odd = try await server.send(
                "POST", "/push", ["where": [:], "data": [:], "dry_run": "true"], as: .master)
            #expect(odd["error"] == "dry_run must be true or false")
        }
    }

    @Test("With dryRun set to provider, a dry run validates with Firebase and reports its errors")
    func provider() async throws {
        var manners = PushSink.Manners()
        manners.scripts = ["gd": [.failure(404, "UNREGISTERED")]]
        try await PushFixture.run(manners, ["dryRun": "provider"]) { server, sink in
            for token in ["gd1", "g2"] { try await PushFixture.device(server, token, "android") }
            let row = try await PushFixture.push(
                server, ["where": [:], "dry_run": true, "data": ["alert": "x"]])
            #expect(sink.notifications.map { $0.body["validate_only"] } == [true, true])
            let report = try await server.send("GET", "/push/\(PushFixture.id(row))/report", as: .master)
            #expect(report["problems"] == ["UNREGISTERED": 1] && report["deviceTypes"] == ["android": 2])
            #expect(try await PushFixture.tokens(server) == ["gd1", "g2"])
        }
    }

    @Test("Rejects a push while a hundred are waiting to start")
    func waiting() async throws {
        try await PushFixture.run(PushSink.Manners(), ["queueOptions": ["disablePushWorker": true]]) { server, sink in
            try await server.execute(
                """
                INSERT INTO "_roost_push_part"
                SELECT 'waits' || n, '', NULL, now() FROM generate_series(1, 100) n
                """)
            let body: JSONValue = ["where": [:], "data": ["alert": "x"]]
            let refused = try await server.send("POST", "/push", body, as: .master)
            #expect(refused["code"] == 115 && refused["error"] == "100 pushes are already waiting to be sent")
            // Scheduled pushes don't count toward the limit.
            try await server.execute("UPDATE \"_roost_push_part\" SET \"due\" = now() + interval '1 day'")
            _ = try await server.send("POST", "/push", body, as: .master).succeeded()
        }
    }

    @Test("Keeps failures for a day, and removed tokens for a month, from which they can be restored")
    func keeping() async throws {
        try await PushFixture.run { server, _ in
            let device = try await PushFixture.device(server, "dead01")
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(try await PushFixture.tokens(server) == [])
            // The statement in docs/push.md.
            try await server.execute(
                """
                UPDATE "_Installation" AS device SET "deviceToken" = dead."token", "updatedAt" = now()
                FROM "_roost_dead_token" AS dead
                WHERE dead."objectId" = device."objectId" AND device."deviceToken" IS NULL
                    AND dead."at" > now() - interval '1 day'
                """)
            #expect(try await PushFixture.tokens(server) == ["dead01"])
            let kept = "SELECT \"objectId\" || ' ' || \"token\" || ' ' || \"reason\" FROM \"_roost_dead_token\""
            #expect(try await server.texts(kept) == ["\(device) dead01 Unregistered"])
            try await server.execute(
                """
                UPDATE "_roost_push_failure" SET "at" = now() - interval '23 hours';
                UPDATE "_roost_dead_token" SET "at" = now() - interval '27 days'
                """)
            try await server.alongside(["push": ["expo": [:]]]) { _ in
                let (failures, tokens) = (try await PushFixture.failures(server, row), try await server.texts(kept))
                #expect(failures.count == 1 && tokens.count == 1)
            }
            try await server.execute(
                """
                UPDATE "_roost_push_failure" SET "at" = now() - interval '25 hours';
                UPDATE "_roost_dead_token" SET "at" = now() - interval '32 days'
                """)
            try await server.alongside(["push": ["expo": [:]]]) { _ in
                let isSwept = try await eventually { try await server.texts(kept).isEmpty }
                let failures = try await PushFixture.failures(server, row)
                #expect(isSwept && failures.isEmpty)
            }
        }
    }

    @Test("Deletes the rows of finished pushes after keepStatusDays")
    func oldRows() async throws {
        let push: JSONObject = ["keepStatusDays": 7, "expo": [:]]
        try await TestServer.run { server in
            try await server.execute(
                """
                INSERT INTO "_PushStatus" ("objectId", "createdAt", "updatedAt", "status")
                SELECT name, now() - age, now() - age, status FROM (VALUES
                    ('old', interval '8 days', 'succeeded'), ('new', interval '6 days', 'failed'),
                    ('waits', interval '8 days', 'scheduled')) AS rows (name, age, status)
                """)
            try await server.alongside(["push": .object(push)]) { _ in
                let isSwept = try await eventually {
                    try await server.texts("SELECT \"objectId\" FROM \"_PushStatus\" ORDER BY 1") == ["new", "waits"]
                }
                #expect(isSwept)
            }
        }
    }

    @Test("A push calls afterSave of _PushStatus with its states, but no triggers of installations")
    func triggers() async throws {
        try await WebhookServer.run { hooks in
            try await PushFixture.run { server, sink in
                for event in ["beforeSave", "afterSave"] {
                    try await hooks.trigger(event, "_Installation", on: server) { _ in .nothing }
                }
                try await hooks.trigger("afterSave", "_PushStatus", on: server) { _ in .nothing }
                try await PushFixture.device(server, "dead01", "ios", ["badge": 1])
                try await PushFixture.device(server, "ab01")
                hooks.forgetCalls()
                let row = try await PushFixture.push(
                    server, ["where": [:], "data": ["alert": "x", "badge": "Increment"]])
                #expect(row["numSent"] == 1 && row["numFailed"] == 1)
                let hasEnded = try await eventually {
                    hooks.calls("_PushStatus.afterSave").last?["object"]?["status"] == "succeeded"
                }
                #expect(hasEnded)
                let states = hooks.calls("_PushStatus.afterSave").map { $0["object"]?["status"]?.stringValue ?? "" }
                #expect(states.first == "pending" && states.contains("running"), "\(states)")
                #expect(hooks.calls("_PushStatus.afterSave").last?["object"]?["numSent"] == 1)
                #expect(hooks.calls.allSatisfy { $0.name == "_PushStatus.afterSave" })
                let odd = try await server.send(
                    "POST", "/hooks/triggers",
                    ["className": "_PushStatus", "triggerName": "beforeSave", "url": "http://x"], as: .master)
                #expect(odd.status == 400)
            }
        }
    }
}
