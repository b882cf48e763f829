import JSON
import Operations
import ParseModel
import TestSupport
import Testing

@Suite struct JobScheduleTests {
    private static let options: JSONObject = ["jobSchedules": true]

    private static func runs(_ server: TestServer) async throws -> [JSONValue] {
        try await server.find("_JobStatus", ["limit": 1000], as: .master).results
    }

    private static func hasRuns(_ server: TestServer, _ count: Int) async throws -> Bool {
        try await eventually { try await runs(server).count == count }
    }

    @Test("Creates, lists, updates and deletes schedules sent by Parse Dashboard, and rejects invalid ones")
    func editing() async throws {
        try await TestServer.run(extensions: StandingJobs().extensions()) { server in
            let schedule: JSONValue = [
                "params": "{\"a\":1}", "daysOfWeek": [1, 1, 1, 1, 1, 1, 1], "jobName": "echo",
                "timeOfDay": "08:30:00.000Z", "repeatMinutes": 60,
            ]
            let made = try await server.send("POST", "/cloud_code/jobs", ["job_schedule": schedule], as: .master)
            #expect(made.status == 201)
            let id = try made.string("objectId")
            let row = try await server.send("GET", "/cloud_code/jobs", as: .master).json.arrayValue?.first
            #expect(row?["jobName"] == "echo")
            #expect(row?["startAfter"]?.stringValue.flatMap(ParseDate.init(iso:)) != nil)
            let changed = try await server.send(
                "PUT", "/cloud_code/jobs/\(id)", ["job_schedule": ["repeatMinutes": 5]], as: .master)
            #expect(changed["response"]?["updatedAt"] != nil, "\(changed.text)")
            #expect(
                try await server.send("GET", "/cloud_code/jobs", as: .master).json.arrayValue?.first?["repeatMinutes"]
                    == 5)
            #expect(try await server.send("GET", "/cloud_code/jobs/data", as: .master)["in_use"] == ["echo"])
            for body: JSONValue in [
                ["job_schedule": ["jobName": "none"]], ["job_schedule": ["jobName": 1]], [:], ["job_schedule": 1],
            ] {
                for (method, path) in [("POST", ""), ("PUT", "/\(id)")] {
                    let answer = try await server.send(method, "/cloud_code/jobs\(path)", body, as: .master)
                    #expect(answer.error == "Cannot Schedule a job that is not deployed", "\(body)")
                    #expect(answer.code == 141)
                }
            }
            let odd: JSONValue = ["job_schedule": ["jobName": "echo", "repeatMinutes": "often"]]
            #expect(try await server.send("POST", "/cloud_code/jobs", odd, as: .master).code == 111)
            #expect(try await server.send("POST", "/cloud_code/jobs", ["job_schedule": schedule]).status == 403)
            #expect(
                try await server.send("PUT", "/cloud_code/jobs/none", ["job_schedule": [:]], as: .master).code == 101)
            #expect(try await server.send("DELETE", "/cloud_code/jobs/\(id)", as: .master).json == [:])
        }
    }

    @Test("Runs each scheduled time once across servers and restarts, and records the last run")
    func once() async throws {
        let clock = try StandingClock("2026-03-02T07:58:30Z")
        let jobs = StandingJobs()
        try await TestServer.run(Self.options, extensions: jobs.extensions(clock.clock, pause: .milliseconds(10))) {
            first in
            try await first.execute(
                """
                INSERT INTO "_JobSchedule" ("objectId", "createdAt", "updatedAt", "jobName", "params", "startAfter",
                    "daysOfWeek", "timeOfDay", "repeatMinutes")
                VALUES ('s', now(), now(), 'echo', '{"a":1}', '2026-03-01T00:00:00.000Z', '[1,1,1,1,1,1,1]',
                    '08:00:00.000Z', 1)
                """)
            // The run that was due yesterday was missed. It is made up for once.
            #expect(try await Self.hasRuns(first, 1))
            clock.advance(minutes: 1)
            for restart in 0..<3 {
                try await first.alongside(
                    Self.options, extensions: jobs.extensions(clock.clock, pause: .milliseconds(10))
                ) { second in
                    for minute in 0..<5 {
                        clock.advance(minutes: 1)
                        let hasRun = try await Self.hasRuns(second, 2 + restart * 5 + minute)
                        #expect(hasRun)
                    }
                }
            }
            // All runs missed while no server was running are made up for by a single run.
            clock.advance(minutes: 200)
            #expect(try await Self.hasRuns(first, 17))
            try await Task.sleep(for: .milliseconds(200))
            let runs = try await Self.runs(first)
            #expect(runs.count == 17)
            #expect(runs.allSatisfy { $0["source"] == "schedule" && $0["jobName"] == "echo" })
            #expect(try await eventually { jobs.calls.withLock { $0.count } == 17 })
            #expect(jobs.calls.withLock { $0.allSatisfy { $0.parameters == ["a": 1] } })
            let schedule = try await first.send("GET", "/cloud_code/jobs", as: .master).json.arrayValue?.first
            #expect(schedule?["lastRun"] == .number(Double(clock.now.milliseconds)))
        }
    }

    @Test("Skips invalid schedules and runs the valid ones")
    func unreadable() async throws {
        let clock = try StandingClock("2026-03-02T08:00:00Z")
        let jobs = StandingJobs()
        try await TestServer.run(Self.options, extensions: jobs.extensions(clock.clock, pause: .milliseconds(10))) {
            server in
            try await server.execute(
                """
                INSERT INTO "_JobSchedule" ("objectId", "jobName", "params", "startAfter", "daysOfWeek", "timeOfDay",
                    "repeatMinutes") VALUES
                ('a', 'echo', '[', NULL, NULL, NULL, NULL), ('b', 'echo', NULL, 'soon', NULL, NULL, NULL),
                ('c', 'echo', NULL, NULL, '{"x":1}', NULL, 5), ('d', 'echo', NULL, NULL, NULL, 'noon', 5),
                ('e', 'echo', NULL, NULL, NULL, NULL, 1e12), ('f', 'none', NULL, NULL, NULL, NULL, 1),
                ('g', NULL, NULL, NULL, NULL, NULL, 1), ('h', 'echo', '', '', '[]', '', -1)
                """)
            #expect(try await Self.hasRuns(server, 1))
            try await Task.sleep(for: .milliseconds(100))
            #expect(try await Self.runs(server).count == 1)
            let run = try await server.texts("SELECT \"objectId\" FROM \"_JobSchedule\" WHERE \"lastRun\" IS NOT NULL")
            #expect(run == ["h"])
        }
    }

    @Test("Delays a scheduled run of an exclusive job until the current run has ended")
    func stillRunning() async throws {
        let clock = try StandingClock("2026-03-02T08:00:00Z")
        let jobs = StandingJobs()
        try await TestServer.run(Self.options, extensions: jobs.extensions(clock.clock, pause: .milliseconds(10))) {
            server in
            let id = try await server.startJob("alone")
            try await server.execute(
                "INSERT INTO \"_JobSchedule\" (\"objectId\", \"jobName\", \"repeatMinutes\") VALUES ('s', 'alone', 1440)"
            )
            try await Task.sleep(for: .milliseconds(200))
            #expect(try await Self.runs(server).count == 1)
            jobs.isOpen.store(true, ordering: .relaxed)
            _ = try #require(try await server.jobStatus(id, when: "succeeded"))
            #expect(try await Self.hasRuns(server, 2))
        }
    }

    @Test("Runs no schedules unless jobSchedules is set")
    func off() async throws {
        let clock = try StandingClock("2026-03-02T08:00:00Z")
        let jobs = StandingJobs()
        try await TestServer.run(extensions: jobs.extensions(clock.clock, pause: .milliseconds(10))) { server in
            try await server.execute(
                "INSERT INTO \"_JobSchedule\" (\"objectId\", \"jobName\", \"repeatMinutes\") VALUES ('s', 'echo', 1)")
            try await Task.sleep(for: .milliseconds(300))
            #expect(try await Self.runs(server).isEmpty)
        }
    }
}
