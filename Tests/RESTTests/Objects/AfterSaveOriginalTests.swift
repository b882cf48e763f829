import App
import JSON
import Operations
import Synchronization
import TestSupport
import Testing

/// The original object passed to an afterSave trigger.
@Suite struct AfterSaveOriginalTests {
    private final class Notes: TriggerSet {
        private let hasBefore: Bool
        private let calls = Mutex<[TriggerCall]>([])

        init(hasBefore: Bool) { self.hasBefore = hasBefore }

        func take() -> [TriggerCall] {
            calls.withLock { calls in
                defer { calls = [] }
                return calls
            }
        }

        func trigger(for event: TriggerEvent, of className: Name) -> Trigger? {
            switch event {
            case .afterSave:
                { [self] call in
                    calls.withLock { $0.append(call) }
                    return TriggerAnswer()
                }
            case .beforeSave where hasBefore: { _ in TriggerAnswer() }
            default: nil
            }
        }
    }

    private static func run(hasBefore: Bool, _ body: @escaping @Sendable (TestServer, Notes) async throws -> Void)
        async throws
    {
        let notes = Notes(hasBefore: hasBefore)
        var extensions = ServerExtensions()
        extensions.backend.triggers = notes
        try await TestServer.run(extensions: extensions) { try await body($0, notes) }
    }

    @Test(
        "Concurrent saves each pass the exact state they changed to afterSave as the original",
        arguments: [false, true])
    func crossing(hasBefore: Bool) async throws {
        try await Self.run(hasBefore: hasBefore) { server, notes in
            let id = try await server.create("Note", ["number": 0, "text": "a"])
            _ = notes.take()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        let answer = try await server.send("PUT", "/classes/Note/\(id)", ["number": .increment(1)])
                            .succeeded()
                        #expect(answer["number"] != nil && answer["text"] == nil)
                    }
                }
                try await group.waitForAll()
            }
            let calls = notes.take()
            let originals = calls.compactMap { $0.original?["number"]?.numberValue }
            #expect(originals.sorted() == (0..<40).map { Double($0) })
            for call in calls {
                #expect(call.object["number"]?.numberValue == (call.original?["number"]?.numberValue ?? -9) + 1)
                #expect(call.original?["text"] == "a" && call.object["text"] == "a")
            }
        }
    }

    @Test(
        "The original user passed to afterSave contains no passwords, tokens or internal fields",
        arguments: [false, true])
    func users(hasBefore: Bool) async throws {
        try await Self.run(hasBefore: hasBefore) { server, notes in
            let ann = try await server.signUp("ann")
            _ = try await server.send(
                "PUT", "/users/\(ann.id)", ["nick": "a", "email": "ann@example.com", "password": "other"],
                as: .session(ann.token)
            ).succeeded()
            let id = ann.id
            _ = try await server.send("PUT", "/users/\(id)", ["nick": "b"], as: .master).succeeded()
            let calls = notes.take().filter { $0.className == "_User" }
            #expect(calls.map { $0.original?["nick"] } == [nil, nil, "a"])
            #expect(calls.map { $0.original?["username"] } == [nil, "ann", "ann"])
            for call in calls {
                let names = (call.original ?? [:]).keys.map(\.text)
                #expect(!names.contains { $0.hasPrefix("_") || $0 == "password" || $0 == "sessionToken" }, "\(names)")
            }
        }
    }

    @Test("Updates of unwritable or missing objects return 101 and call no trigger", arguments: [false, true])
    func refused(hasBefore: Bool) async throws {
        try await Self.run(hasBefore: hasBefore) { server, notes in
            let id = try await server.create("Note", ["number": 0, "ACL": ["*": ["read": true]]])
            _ = notes.take()
            #expect(try await server.send("PUT", "/classes/Note/\(id)", ["number": 1]).code == 101)
            #expect(try await server.send("PUT", "/classes/Note/none", ["number": 1]).code == 101)
            #expect(notes.take().isEmpty)
        }
    }

    @Test("New objects have no original; in a transaction, each update's original includes earlier updates")
    func new() async throws {
        try await Self.run(hasBefore: false) { server, notes in
            let calls: JSONValue = [
                ["method": "POST", "path": "/parse/classes/Note", "body": ["number": 1]],
                ["method": "POST", "path": "/parse/classes/Note", "body": ["number": 2]],
            ]
            _ = try await server.send("POST", "/batch", ["transaction": true, "requests": calls]).succeeded()
            #expect(notes.take().map { $0.original } == [nil, nil])
            let id = try await server.create("Note", ["number": 1])
            let path = JSONValue.string("/parse/classes/Note/\(id)")
            _ = notes.take()
            let changes: JSONValue = [
                ["method": "PUT", "path": path, "body": ["number": 2]],
                ["method": "PUT", "path": path, "body": ["number": 3]],
            ]
            _ = try await server.send("POST", "/batch", ["transaction": true, "requests": changes]).succeeded()
            #expect(notes.take().map { $0.original?["number"] } == [1, 2])
        }
    }
}
