import App
import FileStorage
import JSON
import NIOCore
import Operations
import ParseModel
import ServerConfiguration
import Synchronization
import TestSupport
import Testing

@Suite struct ExtensionTests {
    private static func extensions(_ triggers: any TriggerSet) -> ServerExtensions {
        var extensions = ServerExtensions()
        extensions.backend.triggers = triggers
        return extensions
    }

    /// Hides some objects from finds, and lowercases titles in their results.
    private struct Curtain: TriggerSet {
        func trigger(for event: TriggerEvent, of className: Name) -> Trigger? { nil }

        func findTrigger(for event: FindEvent, of className: Name) -> FindTrigger? {
            guard className == "Song" else { return nil }
            return switch event {
            case .beforeFind:
                { call in
                    if call.query["limit"] == 77 { throw ParseError(ParseError.scriptFailed, "Too curious.") }
                    guard !call.request.caller.isMaster else { return }
                    var condition = call.query["where"]?.objectValue ?? [:]
                    condition["hidden"] = ["$ne": true]
                    call.query["where"] = .object(condition)
                }
            case .afterFind:
                { call in
                    call.objects = call.objects?.filter { $0["title"] != "secret" }.map { object in
                        var object = object
                        object["title"] = object["title"]?.stringValue.map { .string($0.lowercased()) }
                        object["isGet"] = .bool(call.isGet)
                        return object
                    }
                }
            }
        }
    }

    @Test("beforeFind changes or rejects a query, and afterFind changes its results")
    func finds() async throws {
        try await TestServer.run(extensions: Self.extensions(Curtain())) { server in
            let open = try await server.create("Song", ["title": "OPEN"])
            let hidden = try await server.create("Song", ["title": "HIDDEN", "hidden": true])
            let secret = try await server.create("Song", ["title": "secret"])
            let found = try await server.send(
                "GET", "/classes/Song?count=1&where=%7B%22title%22%3A%7B%22$exists%22%3Atrue%7D%7D")
            #expect(found["results"]?.arrayValue?.map { $0["title"] } == ["open"])
            #expect(found["results"]?.arrayValue?.map { $0["isGet"] } == [false])
            #expect(found["count"] == 2)
            let all = try await server.send("GET", "/classes/Song?order=title", as: .master)
            #expect(all["results"]?.arrayValue?.map { $0["title"] } == ["hidden", "open"])
            let one = try await server.send("GET", "/classes/Song/\(open)")
            #expect(one["title"] == "open")
            #expect(one["isGet"] == true)
            #expect(try await server.send("GET", "/classes/Song/\(hidden)").code == 101)
            #expect(try await server.send("GET", "/classes/Song/\(hidden)", as: .master)["title"] == "hidden")
            #expect(try await server.send("GET", "/classes/Song/\(secret)", as: .master).code == 101)
            let refused = try await server.send("GET", "/classes/Song?limit=77")
            #expect(refused.code == 141)
            #expect(refused["error"] == "Too curious.")
        }
    }

    /// Answers every find itself, and counts finds.
    private final class Oracle: TriggerSet {
        let calls = Atomic(0)

        func trigger(for event: TriggerEvent, of className: Name) -> Trigger? { nil }

        func findTrigger(for event: FindEvent, of className: Name) -> FindTrigger? {
            guard event == .beforeFind else { return nil }
            return { [self] call in
                calls.add(1, ordering: .relaxed)
                call.objects = [["objectId": "given"]]
            }
        }
    }

    @Test("beforeFind doesn't run for callers without permission")
    func refusedFinds() async throws {
        let oracle = Oracle()
        try await TestServer.run(extensions: Self.extensions(oracle)) { server in
            for path in ["/classes/_JobStatus", "/classes/_JobStatus/abc", "/classes/_Hooks/abc"] {
                let refused = try await server.send("GET", path)
                #expect(refused.code == 119, "\(path)")
            }
            #expect(oracle.calls.load(ordering: .relaxed) == 0)
            #expect(try await server.send("GET", "/classes/_JobStatus/abc", as: .master)["objectId"] == "given")
            #expect(oracle.calls.load(ordering: .relaxed) == 1)
        }
    }

    private final class Notes: ChangeObserver {
        let changes = Mutex<[Change]>([])
        func observes(_ className: Name) -> Bool { ["Song", "_User", "_Installation"].contains(className) }
        func observe(_ change: Change) async { changes.withLock { $0.append(change) } }
    }

    @Test("Observers get the object before and after each change and the caller, but no password or token")
    func changes() async throws {
        let notes = Notes()
        var extensions = ServerExtensions()
        extensions.backend.observers = [notes]
        try await TestServer.run(extensions: extensions) { server in
            let id = try await server.create("Song", ["title": "one", "plays": 1])
            _ = try await server.send("PUT", "/classes/Song/\(id)", ["plays": .increment(2)], as: .master)
            _ = try await server.send("DELETE", "/classes/Song/\(id)", as: .master)
            _ = try await server.create("Other", ["title": "two"])
            _ = try await server.send("POST", "/users", ["username": "ann", "password": "secret"])
            let changes = notes.changes.withLock { $0 }
            #expect(changes.map { $0.className } == ["Song", "Song", "Song", "_User"])
            #expect(changes.map { $0.before?["plays"] } == [nil, 1, 3, nil])
            #expect(changes.map { $0.after?["plays"] } == [1, 3, nil, nil])
            #expect(changes.map { $0.after?["title"] } == ["one", "one", nil, nil])
            #expect(changes.allSatisfy { $0.after?["password"] == nil && $0.after?["sessionToken"] == nil })
        }
    }

    @Test("Registering a known installation again notifies observers of an update of its row")
    func sameInstallation() async throws {
        let notes = Notes()
        var extensions = ServerExtensions()
        extensions.backend.observers = [notes]
        try await TestServer.run(extensions: extensions) { server in
            let body: JSONObject = ["installationId": "b5e0d8f4-0000-4000-8000-000000000001", "deviceType": "ios"]
            let id = try await server.send("POST", "/installations", .object(body)).succeeded().string("objectId")
            let again = body.merging(["badge": 3]) { $1 }
            _ = try await server.send("POST", "/installations", .object(again)).succeeded()
            let changes = notes.changes.withLock { $0 }
            #expect(changes.map { $0.objectId } == [id, id])
            #expect(changes.map { $0.before?["objectId"]?.stringValue } == [nil, id])
            #expect(changes.map { $0.after?["badge"] } == [nil, 3])
        }
    }

    private final class Memory: FileStorage {
        private let files = Mutex<[Name: (FileInMemory, FileDetails)]>([:])

        func prepare() async throws {}

        func write<Contents: AsyncSequence>(name: String, details: FileDetails, contents: Contents) async throws
        where Contents.Element == ByteBuffer {
            var bytes: [UInt8] = []
            for try await chunk in contents { bytes += chunk.readableBytesView }
            let file = FileInMemory(bytes: bytes, modified: FileTime(seconds: 1_000_000_000))
            files.withLock { $0[Name(name)] = (file, details) }
        }

        func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
            files.withLock { $0[Name(name)]?.0 }
        }

        func details(name: String) async throws -> FileDetails {
            files.withLock { $0[Name(name)]?.1 ?? FileDetails() }
        }

        func delete(name: String) async throws {
            guard files.withLock({ $0.removeValue(forKey: Name(name)) }) != nil else { throw FileStorageError.notFound }
        }

        func visit(
            prefix: String, _ use: nonisolated(nonsending) (ListedFile) async throws -> Void
        ) async throws {
            for (name, (file, _)) in files.withLock({ $0 }) where name.text.hasPrefix(prefix) {
                try await use(ListedFile(name: name.text, size: file.size, modified: file.modified))
            }
        }
    }

    @Test("Stores, serves and deletes files through a custom file storage")
    func files() async throws {
        var extensions = ServerExtensions()
        extensions.files = Memory()
        try await TestServer.run(extensions: extensions) { server in
            let stored = try await server.send(
                "POST", "/files/song.txt", bytes: Array("song".utf8), as: .master,
                headers: ["Content-Type": "text/plain"])
            #expect(stored.status == 201)
            let name = try #require(stored["name"]?.stringValue)
            let answer = try await server.send("GET", "/files/\(TestServer.applicationID)/\(name)")
            #expect(answer.text == "song")
            #expect(try await server.send("DELETE", "/files/\(name)", as: .master).status == 200)
            #expect(try await server.send("GET", "/files/\(TestServer.applicationID)/\(name)").status == 404)
        }
    }

    /// Authenticates users whose proof has a given length.
    private struct Lengths: AuthProvider {
        func validate(_ data: JSONObject, _ options: JSONObject) async throws {
            guard data["proof"]?.stringValue?.count == Int(options["length"]?.numberValue ?? 0) else {
                throw ParseError(ParseError.objectNotFound, "Lengths auth is invalid for this user.")
            }
        }
    }

    @Test("Users sign up and log in through a custom auth provider")
    func provider() async throws {
        var extensions = ServerExtensions()
        extensions.backend.authProviders["lengths"] = Lengths()
        try await TestServer.run(["auth": ["lengths": ["length": 3]]], extensions: extensions) { server in
            func logIn(_ name: String, _ proof: String) async throws -> TestAnswer {
                try await server.send(
                    "POST", "/users", ["authData": .object([Name(name): ["id": "7", "proof": .string(proof)]])])
            }
            let first = try await logIn("lengths", "abc")
            #expect(first.status == 201)
            let second = try await logIn("lengths", "xyz")
            #expect(second.status == 200)
            #expect(second["objectId"] == first["objectId"])
            #expect(try await logIn("lengths", "abcd")["code"] == 101)
            #expect(try await logIn("widths", "abc")["code"] == 252)
            #expect(try await logIn("anonymous", "").status == 201)
        }
    }

    @Test("Refuses to start with an unknown auth provider, and names it")
    func unknownProvider() async throws {
        let error = await #expect(throws: ConfigurationError.self) {
            try await TestServer.run(["auth": ["nobody": [:]]]) { _ in }
        }
        #expect(error?.message == "error: unknown option auth.nobody")
    }

    @Test("A custom clock determines creation dates and session expiry")
    func clock() async throws {
        let clock = try StandingClock("2031-05-01T12:00:00.000Z")
        var extensions = ServerExtensions()
        extensions.backend.clock = clock.clock
        try await TestServer.run(["sessionLength": 3600], extensions: extensions) { server in
            let created = try await server.send("POST", "/classes/Song", ["title": "one"])
            #expect(created.json["createdAt"] == "2031-05-01T12:00:00.000Z")
            let user = try await server.signUp("ada")
            #expect(try await server.send("GET", "/users/me", as: .session(user.token)).status == 200)
            clock.advance(minutes: 59)
            #expect(try await server.send("GET", "/users/me", as: .session(user.token)).status == 200)
            clock.advance(minutes: 2)
            #expect(try await server.send("GET", "/users/me", as: .session(user.token)).code == 209)
        }
    }
}
