import JSON
import Operations
import TestSupport
import Testing

@Suite struct JobTests {
    @Test("Starting a job returns the id of its _JobStatus row at once; the row shows progress and result")
    func life() async throws {
        let jobs = StandingJobs()
        try await TestServer.run(extensions: jobs.extensions()) { server in
            let answer = try await server.send("POST", "/jobs/waiting", ["a": 1], as: .master)
            #expect(answer.status == 200)
            #expect(answer.json == [:])
            let id = try #require(answer.headers["x-parse-job-status-id"])
            #expect(try await eventually { try await server.jobStatus(id)["message"] == "waits" })
            let running = try await server.jobStatus(id)
            #expect(running["status"] == "running")
            #expect(running["jobName"] == "waiting")
            #expect(running["source"] == "api")
            #expect(running["createdAt"] != nil)
            #expect(running["finishedAt"] == nil)
            // Parameters of a job may be secret, so its row doesn't contain them.
            #expect(running["params"] == nil)
            #expect(running["updatedAt"] == nil)
            #expect(running["ACL"] == [:])
            #expect(try await server.send("GET", "/classes/_JobStatus/\(id)").code == 119)
            jobs.isOpen.store(true, ordering: .relaxed)
            let ended = try #require(try await server.jobStatus(id, when: "succeeded"))
            #expect(ended["message"] == "done")
            #expect(ended["finishedAt"]?["__type"] == "Date")
            #expect(ended["updatedAt"] == nil)
            let call = try #require(jobs.calls.withLock { $0.first })
            #expect(call.id == id)
            #expect(call.parameters == ["a": 1])
            #expect(try await server.texts("SELECT \"id\" FROM \"_roost_job_run\"").isEmpty)
        }
    }

    @Test(
        "Stores a job's final status and message in its _JobStatus row",
        arguments: [
            ("echo", "succeeded", #"{"jobName":"echo","a":1,"b":"2"}"#), ("fail", "failed", "it broke"),
            ("refuse", "failed", "Nothing to count."), ("talk", "succeeded", "line 1000"),
        ] as [(String, JSONValue, JSONValue)])
    func ends(name: String, status: JSONValue, message: JSONValue) async throws {
        try await TestServer.run(extensions: StandingJobs().extensions()) { server in
            let answer = try await server.send(
                "POST", "/jobs?b=%222%22", ["jobName": .string(name), "a": 1], as: .master)
            let id = try #require(answer.headers["x-parse-job-status-id"], "\(answer.text)")
            let row = try #require(try await server.jobStatus(id, when: status))
            #expect(row["message"] == message)
        }
    }

    @Test("Truncates long messages and removes NUL characters")
    func messages() async throws {
        try await TestServer.run(extensions: StandingJobs().extensions()) { server in
            let id = try await server.startJob("long")
            let row = try #require(try await server.jobStatus(id, when: "succeeded"))
            let message = try #require(row["message"]?.stringValue)
            #expect((16_000...17_000).contains(message.utf8.count))
            #expect(message.hasSuffix("…"))
            #expect(message.hasPrefix("éé"))
        }
    }

    @Test("Only the master key can start jobs, and unknown job names are rejected")
    func refusals() async throws {
        try await TestServer.run(["readOnlyMasterKey": "reader"], extensions: StandingJobs().extensions()) { server in
            let kim = try await server.signUp("kim")
            for identity: TestServer.Identity in [.anonymous, .session(kim.token), .maintenance] {
                #expect(try await server.send("POST", "/jobs/echo", as: identity).status == 403)
            }
            let reader = try await server.send(
                "POST", "/jobs/echo", [:], as: .nobody, headers: SecurityProbe.reader)
            #expect(reader.code == 119)
            for name in ["none", "constructor", "__proto__", "toString", "Echo", "a", "%22", "%20"] {
                let answer = try await server.send("POST", "/jobs/\(name)", [:], as: .master)
                #expect(answer.code == 141, "\(name): \(answer.text)")
                #expect(answer.error == "Invalid job.", "\(name)")
                #expect(answer.headers["x-parse-job-status-id"] == nil)
            }
            for body: JSONValue in [[:], ["jobName": 1], ["jobName": ["a"]], ["jobName": .null]] {
                #expect(try await server.send("POST", "/jobs", body, as: .master).error == "Invalid job.")
            }
            _ = try await server.startJob("a.b")
            #expect(try await server.find("_JobStatus", as: .master).results.count == 1)
        }
    }

    @Test("An exclusive job is rejected while it runs on any server; other jobs run concurrently")
    func exclusive() async throws {
        let jobs = StandingJobs()
        try await TestServer.run(extensions: jobs.extensions()) { first in
            try await first.alongside(extensions: jobs.extensions()) { second in
                let answers = try await withThrowingTaskGroup(of: TestAnswer.self) { group in
                    for server in [first, second, first, second, first, second] {
                        group.addTask { try await server.send("POST", "/jobs/alone", [:], as: .master) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                let started = answers.compactMap { $0.headers["x-parse-job-status-id"] }
                #expect(started.count == 1)
                #expect(answers.filter { $0.error == "The job is already running." && $0.code == 141 }.count == 5)
                let others = [try await first.startJob("waiting"), try await second.startJob("waiting")]
                jobs.isOpen.store(true, ordering: .relaxed)
                for id in started + others { _ = try #require(try await first.jobStatus(id, when: "succeeded")) }
                let again = try await second.startJob("alone")
                _ = try #require(try await first.jobStatus(again, when: "succeeded"))
                #expect(try await first.find("_JobStatus", as: .master).results.count == 4)
            }
        }
    }

    @Test("Rejects jobs beyond maximumJobs without storing a row")
    func limit() async throws {
        let jobs = StandingJobs()
        try await TestServer.run(["maximumJobs": 2], extensions: jobs.extensions()) { server in
            let ids = [try await server.startJob("waiting"), try await server.startJob("waiting")]
            let refused = try await server.send("POST", "/jobs/echo", [:], as: .master)
            #expect(refused.code == 155, "\(refused.text)")
            #expect(refused.error == "Too many jobs are running (maximumJobs).")
            jobs.isOpen.store(true, ordering: .relaxed)
            for id in ids { _ = try #require(try await server.jobStatus(id, when: "succeeded")) }
            #expect(
                try await eventually {
                    try await server.send("POST", "/jobs/echo", [:], as: .master).status == 200
                })
            #expect(try await server.find("_JobStatus", as: .master).results.count == 3)
        }
    }

    @Test("Marks running jobs as failed when their server stops, even if they ignore cancellation")
    func stop() async throws {
        let jobs = StandingJobs()
        try await TestServer.run(extensions: StandingJobs().extensions()) { server in
            let ids = try await server.alongside(extensions: jobs.extensions()) { other in
                [try await other.startJob("waiting"), try await other.startJob("stubborn")]
            }
            for id in ids {
                let row = try await server.jobStatus(id)
                #expect(row["status"] == "failed")
                #expect(row["message"] == "Server stopped.")
                #expect(row["finishedAt"] != nil)
            }
            #expect(try await server.texts("SELECT \"id\" FROM \"_roost_job_run\"").isEmpty)
        }
    }

    @Test("Marks jobs of dead processes as failed, so that their exclusive jobs can run again")
    func deadProcesses() async throws {
        let jobs = StandingJobs()
        try await TestServer.run(extensions: jobs.extensions()) { server in
            try await server.execute(
                """
                INSERT INTO "_JobStatus" ("objectId", "createdAt", "jobName", "status")
                VALUES ('dead', now(), 'alone', 'running'), ('alive', now(), 'echo', 'running'),
                    ('ended', now(), 'echo', 'succeeded'), ('stranger', now(), 'echo', 'running');
                INSERT INTO "_roost_job_run" ("id", "jobName", "owner", "isExclusive", "seen") VALUES
                    ('dead', 'alone', 'x', true, now() - interval '2 minutes'),
                    ('ended', 'echo', 'x', false, now() - interval '2 minutes'),
                    ('alive', 'echo', 'y', false, now() - interval '20 seconds')
                """)
            jobs.isOpen.store(true, ordering: .relaxed)
            let id = try await server.startJob("alone")
            _ = try #require(try await server.jobStatus(id, when: "succeeded"))
            let dead = try await server.jobStatus("dead")
            #expect(dead["status"] == "failed")
            #expect(dead["message"] == "Server stopped.")
            for (id, status) in [("alive", "running"), ("ended", "succeeded"), ("stranger", "running")] {
                #expect(try await server.jobStatus(id)["status"] == .string(status), "\(id)")
            }
        }
    }

    @Test("A running job ends normally if its row is deleted")
    func removedRow() async throws {
        let jobs = StandingJobs()
        try await TestServer.run(extensions: jobs.extensions()) { server in
            let id = try await server.startJob("alone")
            _ = try await server.send("DELETE", "/classes/_JobStatus/\(id)", as: .master).succeeded()
            jobs.isOpen.store(true, ordering: .relaxed)
            #expect(
                try await eventually { try await server.texts("SELECT \"id\" FROM \"_roost_job_run\"").isEmpty })
            #expect(try await server.find("_JobStatus", as: .master).results.isEmpty)
            _ = try #require(try await server.jobStatus(try await server.startJob("alone"), when: "succeeded"))
        }
    }

    @Test("Reports the jobs feature and the job names to Parse Dashboard")
    func dashboard() async throws {
        try await TestServer.run(extensions: StandingJobs().extensions()) { server in
            let features = try await server.send("GET", "/serverInfo", as: .master)["features"]
            #expect(features?["cloudCode"]?["jobs"] == true)
            let data = try await server.send("GET", "/cloud_code/jobs/data", as: .master)
            #expect(
                data["jobs"] == ["a.b", "alone", "echo", "fail", "long", "refuse", "stubborn", "talk", "waiting"],
                "\(data.text)")
        }
    }
}
