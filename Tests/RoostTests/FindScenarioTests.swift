import Roost
import Synchronization
import TestSupport
import Testing

/// Triggers of finds, log-ins, files and config.
@Suite struct FindScenarioTests {
    @Test("Find triggers remove a limit, change given results, see gets, and have requirements")
    func finds() async throws {
        let gets = Mutex<[Bool]>([])
        try await CloudServer { cloud in
            cloud.beforeFind("Unlimited") { request in
                request.query.limit = nil
                request.query.filter["n"] = ["$gte": 2]
            }
            cloud.beforeFind("Made") { request in
                request.results = [ParseObject("Made", objectId: "m1")]
            }
            cloud.afterFind("Made") { request in
                for index in request.objects.indices { request.objects[index]["seen"] = true }
            }
            cloud.afterFind("Changed") { request in
                request.objects.sort { ($0["n"]?.numberValue ?? 0) > ($1["n"]?.numberValue ?? 0) }
                request.objects = request.objects.filter { $0["n"] != 2 }
            }
            cloud.beforeFind("Inner") { request in gets.withLock { $0.append(request.isGet) } }
            cloud.beforeFind("Refused", requires: .user) { _ in }
        }.run { server in
            for className in ["Unlimited", "Changed"] {
                for n in 1...3 { _ = try await server.create(className, ["n": .number(Double(n))]) }
            }
            let unlimited = try await server.find("Unlimited", ["limit": 1])
            #expect(unlimited.results.count == 2, "a limit can be removed: \(unlimited.text)")
            let made = try await server.find("Made")
            #expect(made.results.map { $0["objectId"] } == ["m1"], "44 objects: \(made.text)")
            #expect(made.results.first?["seen"] == true)
            #expect(try await server.find("Changed").results.map { $0["n"] } == [3, 1])
            let inner = try await server.create("Inner", [:])
            _ = try await server.create("Outer", ["b": .pointer("Inner", inner)])
            _ = try await server.find("Outer", ["include": "b"])
            #expect(gets.withLock { $0 } == [true], "46 included")
            #expect(try await server.find("Refused").error == "Validation failed. Please login to continue.")
        }
    }

    @Test("User triggers run at sign-ups, log-ins with the right password and log-outs")
    func users() async throws {
        let notes = Mutex<[String]>([])
        @Sendable func note(_ line: String) { notes.withLock { $0.append(line) } }
        try await CloudServer { cloud in
            cloud.beforeSave("_User") { note("save \($0.object["password"]?.stringValue ?? "")") }
            cloud.beforeLogin { _ in note("before") }
            cloud.afterLogin { _ in note("after") }
            cloud.afterLogout { note("out \($0.object["sessionToken"]?.stringValue?.hasPrefix("r:") == true)") }
        }.run { server in
            _ = try await server.signUp("kim")
            #expect(try await server.send("POST", "/login", ["username": "kim", "password": "wrong"]).code == 101)
            let kim = try await server.send("POST", "/login", ["username": "kim", "password": "secret"]).succeeded()
            _ = try await server.send("POST", "/logout", [:], as: .session(kim.string("sessionToken"))).succeeded()
            #expect(notes.withLock { $0 } == ["save secret", "before", "after", "out true"])
        }
    }

    @Test("Triggers reject and change files, reject config changes and see what was saved")
    func filesAndConfiguration() async throws {
        let notes = Mutex<[String]>([])
        try await CloudServer(["fileUpload": ["enableForPublic": true]]) { cloud in
            cloud.beforeSaveFile { request in
                if request.bytes == Array("bad".utf8) { throw ParseError(130, "Not this file.") }
                request.bytes = Array("changed".utf8)
            }
            cloud.afterSaveFile { request in notes.withLock { $0.append("stored \(request.size ?? -1)") } }
            cloud.beforeSaveConfig { request in
                if request.params["a"] == 2 { throw ParseError(141, "Not two.") }
            }
            cloud.afterSaveConfig { request in
                notes.withLock { $0.append("config \(request.params["a"] ?? .null)") }
            }
        }.run { server in
            let file = try await server.send("POST", "/files/a.txt", bytes: Array("good".utf8)).succeeded()
            let read = try await server.send("GET", try file.string("url"), as: .nobody)
            #expect(String(decoding: read.bytes, as: UTF8.self) == "changed")
            let refused = try await server.send("POST", "/files/a.txt", bytes: Array("bad".utf8))
            #expect(refused.error == "Not this file.", "\(refused.text)")
            _ = try await server.send("PUT", "/config", ["params": ["a": 1]], as: .master).succeeded()
            #expect(try await server.send("PUT", "/config", ["params": ["a": 2]], as: .master).error == "Not two.")
            #expect(try await server.send("GET", "/config", as: .master)["params"] == ["a": 1])
            #expect(notes.withLock { $0 } == ["stored 7", "config 1"])
        }
    }
}
