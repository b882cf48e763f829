import App
import JSON
import Operations
import ParseModel
import Synchronization
import TestSupport
import Testing

/// Writes by dotted keys into objects and lists, alone and together with other fields.
@Suite struct NestedWriteTests {
    private final class Notes: TriggerSet {
        let objects = Mutex<[JSONObject]>([])
        func trigger(for event: TriggerEvent, of className: Name) -> Trigger? {
            guard event == .beforeSave else { return nil }
            return { [self] call in
                objects.withLock { $0.append(call.object) }
                return TriggerAnswer()
            }
        }
    }

    private static func noting(_ body: @escaping @Sendable (TestServer, Notes) async throws -> Void) async throws {
        let notes = Notes()
        var extensions = ServerExtensions()
        extensions.backend.triggers = notes
        try await TestServer.run(extensions: extensions) { try await body($0, notes) }
    }

    @Test("A dotted key of a new object is merged with the field's default")
    func defaults() async throws {
        try await TestServer.run { server in
            let fields: JSONValue = ["info": ["type": "Object", "defaultValue": ["x": 1]]]
            _ = try await server.send("POST", "/schemas/Song", ["fields": fields], as: .master).succeeded()
            let id = try await server.create("Song", ["info.a": 1])
            let read = try await server.send("GET", "/classes/Song/\(id)")
            #expect(same(read["info"], ["x": 1, "a": 1]), "\(read.text)")
            let plain = try await server.send("POST", "/classes/Song", [:])
            #expect(plain["info"] == ["x": 1])
        }
    }

    @Test("A dotted index of a new object creates a list that later operations extend")
    func lists() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Song", ["list.0": "a"])
            #expect(try await server.send("GET", "/classes/Song/\(id)")["list"] == ["a"])
            let added = try await server.send(
                "PUT", "/classes/Song/\(id)", ["list": ["__op": "AddUnique", "objects": ["z"]]])
            #expect(added["list"] == ["a", "z"])
            #expect(try await server.find("Song", ["where": ["list": "a"]]).results.count == 1)
        }
    }

    @Test("Triggers and reads get the whole list with the changed element in place")
    func told() async throws {
        try await Self.noting { server, notes in
            let id = try await server.create(
                "Song", ["list": ["a", "b", "c"], "info": ["list": [1, 2, ["n": 1]]]])
            let changes: [(JSONValue, Name, JSONValue)] = [
                (["list.1": "X"], "list", ["a", "X", "c"]),
                (["info.list.2.n": 5], "info", ["list": [1, 2, ["n": 5]]]),
                (["list.0": ["__op": "Delete"]], "list", [.null, "X", "c"]),
                (["list.9": ["__op": "Delete"]], "list", [.null, "X", "c"]),
            ]
            for (body, field, expected) in changes {
                _ = try await server.send("PUT", "/classes/Song/\(id)", body).succeeded()
                #expect(notes.objects.withLock { $0.last?[field] } == expected, "\(body)")
                #expect(try await server.send("GET", "/classes/Song/\(id)")[field.text] == expected, "\(body)")
            }
        }
    }

    @Test("Never returns a sessionToken value that a user wrote")
    func tokens() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim", ["sessionToken": "mine"])
            _ = try await server.send(
                "PUT", "/users/\(kim.id)", ["sessionToken": "abc", "ACL": ["*": ["read": true]]],
                as: .session(kim.token)
            ).succeeded()
            for identity in [.anonymous, .master] as [TestServer.Identity] {
                #expect(try await server.send("GET", "/users/\(kim.id)", as: identity)["sessionToken"] == nil)
            }
            let own = try await server.send("GET", "/users/\(kim.id)", as: .session(kim.token))
            #expect(own["sessionToken"]?.stringValue == kim.token)
        }
    }

    @Test("Rejects a dotted write that would nest a value too deeply")
    func depth() async throws {
        try await TestServer.run { server in
            func nested(_ depth: Int) -> JSONValue { (0..<depth).reduce(1) { inner, _ in ["a": inner] } }
            let id = try await server.create("Song", ["deep": nested(97)])
            let path = "deep" + String(repeating: ".a", count: 98)
            let refused = try await server.send("PUT", "/classes/Song/\(id)", [Name(path): nested(150)])
            #expect(refused.code == 105, "\(refused.text)")
            #expect(try await server.send("PUT", "/classes/Song/\(id)", [Name(path): nested(90)]).status == 200)
            #expect(try await server.send("GET", "/classes/Song/\(id)")["objectId"]?.stringValue == id)
        }
    }

    @Test("Rejects an update with 116 if the stored object is too deep to pass to its trigger")
    func deeperThanRead() async throws {
        try await Self.noting { server, notes in
            let id = try await server.create("Song", ["info": ["a": 1], "title": "A"])
            let deep = String(repeating: "{\"a\":", count: 300) + "1" + String(repeating: "}", count: 300)
            try await server.execute("UPDATE \"Song\" SET \"info\" = '\(deep)'")
            let refused = try await server.send("PUT", "/classes/Song/\(id)", ["title": "B"])
            #expect(refused.code == 116, "\(refused.text)")
            #expect(notes.objects.withLock(\.count) == 1)
            #expect(try await server.texts("SELECT title FROM \"Song\"") == ["A"])
        }
    }
}
