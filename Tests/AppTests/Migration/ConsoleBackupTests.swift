import Foundation
import JSON
import TestSupport
import Testing

/// Scenario 79, second half: owners create and download backups of a server with its embedded PostgreSQL.
@Suite("Backups in the console", .timeLimit(.minutes(10))) struct ConsoleBackupTests {
    private struct Browser {
        let port: Int
        var token = ""
        var cookie = ""

        init(_ server: CrashServer, _ ways: JSONValue = ["masterKey": .string(CrashServer.masterKey)]) async throws {
            port = server.port
            let answer = try await send("POST", "session", ways)
            try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
            token = try #require(answer.json["token"]?.stringValue)
            cookie = String(try #require(answer.headers["set-cookie"]).prefix { $0 != ";" })
        }

        /// Calls a route. Requests to single-use URLs contain only the cookie.
        func send(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> MalformedSocket.Answer {
            let (port, content) = (port, body?.serialized() ?? [])
            let fields = path.contains("/once/") || token.isEmpty ? "" : "X-Roost-Console: \(token)\r\n"
            let head = """
                \(method) /console/api/\(path) HTTP/1.1\r
                Host: 127.0.0.1:\(port)\r
                \(fields)Cookie: \(cookie)\r
                Content-Type: application/json\r
                Content-Length: \(content.count)\r
                \r

                """
            return try await withCheckedThrowingContinuation { continuation in
                Thread {
                    continuation.resume(
                        with: Result {
                            try MalformedSocket(port: port).exchange(Array(head.utf8) + content, isHead: false)
                        })
                }.start()
            }
        }

        /// Creates an operator and signs in as that operator.
        func other(_ role: String, _ server: CrashServer) async throws -> Browser {
            let made = try await send(
                "POST", "operators", ["name": .string(role), "password": "long enough", "role": .string(role)])
            try #require(made.status == 201)
            return try await Browser(server, ["name": .string(role), "password": "long enough"])
        }

        func backUp() async throws -> JSONValue {
            let begun = try await send("POST", "backups", [:])
            try #require(begun.status == 202, "\(begun.json.text)")
            return try await end(of: begun.json)
        }

        func end(of begun: JSONValue) async throws -> JSONValue {
            let id = try #require(begun["id"]?.stringValue)
            var task = begun
            while task["state"] == "running" { task = try await send("GET", "tasks/\(id)?wait=20").json }
            return task
        }

        func backups() async throws -> [JSONValue] {
            try await send("GET", "backups").json["backups"]?.arrayValue ?? []
        }
    }

    private static func start(_ server: CrashServer, folder: String = "backups") async throws {
        let file = URL(fileURLWithPath: server.folder + "/config.json")
        var values = try JSONValue(parsing: Array(Data(contentsOf: file))).objectValue ?? [:]
        values["console"] = ["backupFolder": .string(folder)]
        try Data(values.serialized()).write(to: file)
        try await server.start()
    }

    private static func restore(_ file: String, _ server: CrashServer) async throws -> (status: Int32, output: String) {
        try await ExportFolder.command(
            [CrashServer.findBinary(), "restore", file, "--dataDir", server.folder + "/data"], in: server.folder)
    }

    @Test("Only owners create and download backups, once per URL, and roost restore accepts the download")
    func whole() async throws {
        try await CrashServer.run { server in
            try await Self.start(server)
            let row = try await server.send("POST", "/classes/Row", ["a": 1]).body["objectId"]?.stringValue ?? ""
            let owner = try await Browser(server)
            #expect(try await owner.backups().isEmpty)
            let task = try await owner.backUp()
            #expect(task["state"] == "done" && task["done"] == 100, "\(task.text)")
            let name = try #require(task["result"]?["name"]?.stringValue)
            let listed = try await owner.backups()
            #expect(listed.count == 1 && listed[0]["name"]?.stringValue == name, "\(listed)")
            for role in ["viewer", "editor", "developer"] {
                let browser = try await owner.other(role, server)
                #expect(try await browser.send("POST", "backups", [:]).status == 403, "\(role)")
                #expect(try await browser.send("POST", "backups/\(name)", [:]).status == 403, "\(role)")
                #expect(try await browser.send("GET", "backups").status == (role == "developer" ? 200 : 403), "\(role)")
            }
            for missing in ["x.tar", "..%2Fconfig.json", "..%2Fdata%2Fx.tar"] {
                #expect(try await owner.send("POST", "backups/\(missing)", [:]).status == 404, "\(missing)")
            }
            func address() async throws -> String {
                let answer = try await owner.send("POST", "backups/\(name)", [:])
                try #require(answer.status == 201, "\(answer.json.text)")
                return String(try #require(answer.json["url"]?.stringValue).dropFirst("/console/api/".count))
            }
            // Another session's cookie is rejected, and the single-use URL is consumed.
            let second = try await Browser(server)
            let taken = try await address()
            #expect(try await second.send("GET", taken).status == 404)
            #expect(try await owner.send("GET", taken).status == 404)
            let url = try await address()
            let file = try await owner.send("GET", url)
            #expect(file.status == 200 && file.headers["content-disposition"]?.contains(name) == true)
            #expect(file.body.count == listed[0]["bytes"]?.numberValue.map { Int($0) }, "\(file.body.count)")
            #expect(try await owner.send("GET", url).status == 404)
            let audit = try await owner.send("GET", "audit").json["rows"]?.arrayValue ?? []
            #expect(audit.count { $0["path"] == "backups" && $0["status"] == 200 } == 1)
            #expect(audit.count { $0["path"] == "backups/once" && $0["fields"] == [.string(name)] } == 2)
            try await CrashServer.run { other in
                let copy = other.folder + "/copy.tar"
                try Data(file.body).write(to: URL(fileURLWithPath: copy))
                let restored = try await Self.restore(copy, other)
                #expect(restored.status == 0, "\(restored.output)")
                try await other.start()
                #expect(try await other.send("GET", "/classes/Row/\(row)").status == 200)
            }
        }
    }

    @Test("Runs one backup at a time; incomplete ones are never listed and don't block the next")
    func once() async throws {
        try await CrashServer.run { server in
            try await Self.start(server)
            let owner = try await Browser(server)
            func begin() async throws -> JSONValue {
                let first = try await owner.send("POST", "backups", [:])
                try #require(first.status == 202, "\(first.json.text)")
                return first.json
            }
            let first = try await begin()
            let second = try await owner.send("POST", "backups", [:])
            // The first backup may have finished before the second request.
            let isRunning = try await owner.send("GET", "backups").json["task"]?["id"] == first["id"]
            #expect(!isRunning || second.status == 409, "\(second.json.text)")
            _ = try await owner.end(of: first)
            if second.status == 202 { _ = try await owner.end(of: second.json) }
            let before = try await owner.backups().count
            let stopped = try await begin()
            let id = try #require(stopped["id"]?.stringValue)
            #expect(try await owner.send("DELETE", "tasks/\(id)").status == 200)
            let end = try await owner.end(of: stopped)
            // The stopped backup may already have been complete.
            #expect(try await owner.backups().count == before + (end["state"] == "done" ? 1 : 0), "\(end.text)")
            let number = try await owner.backups().count
            _ = try await begin()
            try await server.end(by: SIGKILL)
            try await server.start()
            let later = try await Browser(server)
            let isThere = try await later.backups().count - number
            #expect(isThere == 0 || isThere == 1)
            for backup in try await later.backups() {
                // Every listed backup must be complete.
                try await CrashServer.run { other in
                    let name = backup["name"]?.stringValue ?? ""
                    let restored = try await Self.restore("\(server.folder)/backups/\(name)", other)
                    #expect(restored.status == 0, "\(restored.output)")
                }
            }
            let made = try await later.backUp()
            #expect(made["state"] == "done", "\(made.text)")
        }
    }

    @Test("Refuses backups without console.backupFolder, and refuses to start if it is inside the files folder")
    func refused() async throws {
        try await CrashServer.run { server in
            try await server.start()
            let owner = try await Browser(server)
            #expect(try await owner.send("GET", "backups").json == ["ownDatabase": true])
            for path in ["backups", "backups/x.tar"] {
                let answer = try await owner.send("POST", path, [:])
                let text = answer.json.text
                #expect(answer.status == 409 && text.contains("console.backupFolder"), "\(text)")
            }
        }
        try await CrashServer.run { server in
            // Clients could download the backups from there.
            for folder in ["data/files", "data/files/below/deep"] {
                let started = await Result { try await Self.start(server, folder: folder) }
                #expect(throws: CrashServer.Failure.self) { try started.get() }
                #expect(server.output.contains("console.backupFolder can't be inside the files folder"), "\(folder)")
            }
        }
    }
}

extension MalformedSocket.Answer {
    fileprivate var json: JSONValue { (try? JSONValue(parsing: body)) ?? .null }
}

extension Result where Failure == any Error {
    fileprivate init(catching body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
