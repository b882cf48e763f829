import Foundation
import JSON
import TestSupport
import Testing

/// The example package with cloud code, run as processes.
@Suite struct CloudExampleTests {
    @Test("Functions, triggers and jobs of the example work in each of two processes")
    func calls() async throws {
        try await ServerProcesses.run(2, program: "CloudExample") { processes in
            let (first, second) = (processes[0], processes[1])
            for server in [first, second] {
                let hello = try await server.send("POST", "/functions/hello", ["name": "Kim"])
                #expect(hello.json == ["result": "Hello, Kim!"], "\(hello.text)")
            }
            let refused = try await first.send("POST", "/classes/Review", ["stars": 6])
            #expect(refused.code == 142)
            #expect(refused.error == "A review has one to five stars.")
            let missing = try await first.send("POST", "/classes/Review", ["title": "x"])
            #expect(missing.error == "Validation failed. Please specify data for stars.", "\(missing.text)")
            for stars in [2, 5] as [JSONValue] {
                let made = try await first.send("POST", "/classes/Review", ["stars": stars])
                #expect(made["title"] == "Untitled", "\(made.text)")
            }
            // Within a second, the other process knows the class that the first one created.
            var average = try await second.send("POST", "/functions/averageStars", [:])
            let isKnown = try await withinOneSecond {
                average = try await second.send("POST", "/functions/averageStars", [:])
                return average["result"] == ["count": 2, "stars": 3.5]
            }
            #expect(isKnown, "\(average.text)")
            let job = try await second.send("POST", "/jobs/countReviews", [:], as: .master)
            let id = try #require(job.headers["x-parse-job-status-id"])
            let hasEnded = try await eventually {
                try await first.send("GET", "/classes/_JobStatus/\(id)", as: .master)["message"] == "2 reviews"
            }
            #expect(hasEnded)
        }
    }

    @Test("After a process is killed, the other runs schedules and marks abandoned jobs as failed")
    func killed() async throws {
        try await ServerProcesses.run(2, ["jobSchedules": true], program: "CloudExample") { processes in
            let server = processes[1]
            kill(processes.identifiers[0], SIGKILL)
            try await server.execute(
                """
                INSERT INTO "_JobStatus" ("objectId", "createdAt", "jobName", "status")
                VALUES ('dead', now(), 'countReviews', 'running');
                INSERT INTO "_roost_job_run" ("id", "jobName", "owner", "isExclusive", "seen")
                VALUES ('dead', 'countReviews', 'x', true, now() - interval '2 minutes');
                INSERT INTO "_JobSchedule" ("objectId", "jobName", "repeatMinutes") VALUES ('s', 'countReviews', 1440)
                """)
            // The overdue schedule runs once, in the remaining process.
            let hasRun = try await eventually {
                try await server.find("_JobStatus", ["where": ["status": "succeeded"]], as: .master).results.count == 1
            }
            #expect(hasRun)
            let dead = try await server.send("GET", "/classes/_JobStatus/dead", as: .master)
            #expect(dead["status"] == "failed")
            #expect(dead["message"] == "Server stopped.")
        }
    }

    @Test("An unknown option ends the program with an error that names it")
    func misconfigured() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-example-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let process = try await CrashProcess.start(
            [CrashServer.findBinary("CloudExample"), "--nosuch", "1"], output: folder + "/out.txt")
        let hasEnded = try await eventually(within: .seconds(60)) { !process.isRunning }
        #expect(hasEnded)
        let output = try String(contentsOfFile: folder + "/out.txt", encoding: .utf8)
        #expect(output.contains("unknown option --nosuch"), "\(output)")
    }
}
