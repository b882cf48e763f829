import Roost
import Synchronization
import TestSupport
import Testing

/// Data access of cloud code, and its permissions.
@Suite struct CloudDataTests {
    @Test("Reads and writes as the caller, the master key, a user or anonymously, as the code chooses")
    func authorities() async throws {
        try await CloudServer { cloud in
            func find(_ name: String, _ authority: @escaping @Sendable (FunctionRequest<JSONObject>) -> Authority) {
                cloud.define(name) { request in
                    try await request.data(authority(request)).find(ParseQuery("Note").order(by: "text"))
                        .compactMap { $0["text"] }
                }
            }
            find("caller") { _ in .asCaller }
            find("master") { _ in .asMaster }
            find("nobody") { _ in .anonymous }
            find("user") { .asUser(sessionToken: $0.params["token"]?.stringValue ?? "") }
            cloud.define("write") { request in
                var note = ParseObject("Note", objectId: request.params["id"]?.stringValue)
                note["text"] = "written"
                return try await request.data(.asCaller).save(note)["text"]
            }
        }.run { server in
            let (kim, lee) = (try await server.signUp("kim"), try await server.signUp("lee"))
            func note(_ text: String, _ principal: String, _ rights: JSONValue) async throws -> String {
                var acl: JSONObject = [:]
                acl[principal] = rights
                return try await server.create("Note", ["text": .string(text), "ACL": .object(acl)], as: .master)
            }
            let kims = try await note("kims", kim.id, ["read": true, "write": true])
            _ = try await note("lees", lee.id, ["read": true])
            _ = try await note("open", "*", ["read": true])
            let asKim = TestServer.Identity.session(kim.token)
            #expect(try await server.call("caller", as: asKim)["result"] == ["kims", "open"])
            #expect(try await server.call("caller")["result"] == ["open"])
            #expect(try await server.call("caller", as: .master)["result"] == ["kims", "lees", "open"])
            #expect(try await server.call("master")["result"] == ["kims", "lees", "open"])
            #expect(try await server.call("nobody", as: asKim)["result"] == ["open"])
            #expect(
                try await server.call("user", ["token": .string(lee.token)], as: asKim)["result"] == ["lees", "open"])
            #expect(try await server.call("user", ["token": "r:none"]).code == 209)
            #expect(try await server.call("write", ["id": .string(kims)]).status == 404)
            #expect(try await server.call("write", ["id": .string(kims)], as: asKim)["result"] == "written")
        }
    }

    @Test("Rejects writes as the caller if the caller used the read-only master key")
    func readOnly() async throws {
        try await CloudServer(["readOnlyMasterKey": "reader"]) { cloud in
            cloud.define("write") { request in
                _ = try await request.data(.asCaller).save(ParseObject("Note", objectId: "n"))
            }
            cloud.define("told") { [$0.details.isMaster, $0.details.isReadOnly] }
        }.run { server in
            let headers = ["X-Parse-Application-Id": TestServer.applicationID, "X-Parse-Master-Key": "reader"]
            let answer = try await server.send("POST", "/functions/write", [:], as: .nobody, headers: headers)
            #expect(answer.code != nil, "\(answer.text)")
            let told = try await server.send("POST", "/functions/told", [:], as: .nobody, headers: headers)
            #expect(told["result"] == [true, true], "\(told.text)")
        }
    }

    @Test("Counts, finds, gets, saves and deletes objects, calls functions and starts jobs")
    func calls() async throws {
        try await CloudServer { cloud in
            cloud.define("all") { request in
                let data = request.data(.asMaster)
                var song = ParseObject("Song")
                song["title"] = "a/b? ü"
                song["plays"] = 1
                song = try await data.save(song)
                song.increment("plays", by: 4)
                song = try await data.save(song)
                let id = song.objectId ?? ""
                let count = try await data.count(ParseQuery("Song").where("plays", .equals(5)))
                let read = try await data.get("Song", id)
                let first = try await data.first(ParseQuery("Song").where("title", .isIn(["a/b? ü"])))
                let echo = try await data.call("inner/part", ["x": 1])
                try await data.delete("Song", id)
                var missing = 0
                do { _ = try await data.get("Song", id) } catch let error as ParseError { missing = error.code }
                let job = try await data.startJob("noted", ["y": 2])
                return [
                    "plays": song["plays"] ?? nil, "count": .number(Double(count)), "read": read["title"] ?? nil,
                    "first": .bool(first?.objectId == id), "echo": echo ?? nil, "missing": .number(Double(missing)),
                    "job": .bool(!job.isEmpty), "dates": .bool(read.createdAt != nil && read.updatedAt != nil),
                ]
            }
            cloud.define("inner/part") { $0.params }
            cloud.job("noted") { request in
                request.message("first")
                return "\(request.jobName) \(JSONValue.object(request.params))"
            }
        }.run { server in
            let answer = try await server.call("all")
            let expected: JSONValue = [
                "plays": 5, "count": 1, "read": "a/b? ü", "first": true, "echo": ["x": 1], "missing": 101,
                "job": true, "dates": true,
            ]
            #expect(same(answer["result"], expected), "\(answer.text)")
            #expect(
                try await eventually {
                    let row = try await server.find("_JobStatus", as: .master).results.first
                    return row?["status"] == "succeeded" && row?["message"] == #"noted {"y":2}"#
                })
        }
    }

    @Test("Scenario 60: a job's row records its status and result, and oneAtATime rejects a second run")
    func job() async throws {
        let isOpen = Mutex(false)
        try await CloudServer { cloud in
            cloud.job("x", oneAtATime: true) { request in
                request.message("half")
                while !isOpen.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
                return "ok"
            }
            cloud.job("fails") { _ -> String? in throw ParseError(101, "Nothing there.") }
        }.run { server in
            let answer = try await server.send("POST", "/jobs/x", [:], as: .master)
            #expect(answer.status == 200)
            #expect(answer.json == [:])
            let id = try #require(answer.headers["x-parse-job-status-id"])
            func row(_ id: String) async throws -> JSONValue {
                try await server.send("GET", "/classes/_JobStatus/\(id)", as: .master).json
            }
            let isHalf = try await eventually { try await row(id)["message"] == "half" }
            #expect(isHalf)
            #expect(try await row(id)["status"] == "running")
            #expect(try await server.send("POST", "/jobs/x", [:], as: .master).code == 141)
            isOpen.withLock { $0 = true }
            let isDone = try await eventually { try await row(id)["status"] == "succeeded" }
            #expect(isDone)
            #expect(try await row(id)["message"] == "ok")
            let failing = try await server.send("POST", "/jobs/fails", [:], as: .master)
            let failed = try #require(failing.headers["x-parse-job-status-id"])
            let hasFailed = try await eventually { try await row(failed)["status"] == "failed" }
            #expect(hasFailed)
            #expect(try await row(failed)["message"] == "Nothing there.")
        }
    }

    @Test("Stops recursive triggers at a depth limit, and stores nothing")
    func recursion() async throws {
        let calls = Mutex(0)
        try await CloudServer { cloud in
            cloud.beforeSave("Loop") { request in
                calls.withLock { $0 += 1 }
                try await request.data(.asMaster).save(ParseObject("Loop"))
            }
        }.run { server in
            let answer = try await server.post("Loop", [:])
            #expect(answer.code == 141, "\(answer.text)")
            #expect(answer.error == "Trigger recursion is too deep.")
            #expect(calls.withLock { $0 } == 16)
            #expect(try await server.send("GET", "/schemas/Loop", as: .master).code == 103)
        }
    }

    @Test("cloud.test runs functions and beforeSave triggers without a server")
    func withoutServer() async throws {
        let app = RoostApp(arguments: [], environment: [:])
        app.cloud.define("hello", requires: .user) { "Hello, \($0.user?["username"]?.stringValue ?? "")!" }
        app.cloud.define("reads") { try await $0.data(.asMaster).find(ParseQuery("Note")).count }
        app.cloud.beforeSave("Note") { request in
            guard request.object["text"] != nil else { throw ParseError(142, "A text.") }
            request.object.increment("edits")
        }
        var kim = ParseObject("_User", objectId: "k")
        kim["username"] = "kim"
        let test = app.cloud.test
        let asKim = try await test.call("hello", as: .user(kim))
        #expect(asKim == "Hello, kim!")
        let asMaster = try await test.call("hello", as: .master)
        #expect(asMaster == "Hello, !")
        for (name, code) in [("hello", 142), ("none", 141), ("reads", 119)] {
            let refusal = await #expect(throws: ParseError.self) { _ = try await test.call(name) }
            #expect(refusal?.code == code, "\(name): \(refusal?.message ?? "")")
        }
        var note = ParseObject("Note")
        let empty = note
        await #expect(throws: ParseError.self) { _ = try await test.beforeSave(empty) }
        note["text"] = "x"
        let saved = try await test.beforeSave(note)
        #expect(saved["edits"] == 1)
        #expect(saved["text"] == "x")
    }
}
