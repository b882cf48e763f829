import JSON
import TestSupport
import Testing

/// Subscribers of an object with concurrent writers receive each change once, in commit order.
@Suite struct LiveQueryOrderTests {
    private static let options = TestServer.publishing("Note")

    /// Reads events up to that of the last change.
    private static func events(_ client: LiveQueryClient) async throws -> [JSONObject] {
        var events: [JSONObject] = []
        while events.last?["object"]?["isLast"] != true { events.append(try await client.next()) }
        return events
    }

    /// Checks that `enter` and `leave` events alternate.
    ///
    /// - Returns: Whether the object matches in the end.
    private static func isIn(after events: ArraySlice<JSONObject>, from isIn: Bool) -> Bool {
        var isIn = isIn
        for event in events {
            switch event["op"] {
            case "enter", "create":
                #expect(!isIn, "\(event.text)")
                isIn = true
            case "leave", "delete":
                #expect(isIn, "\(event.text)")
                isIn = false
            default: #expect(isIn, "\(event.text)")
            }
        }
        return isIn
    }

    /// Lets two writers concurrently move an object into and out of a subscription's condition.
    private static func cross(_ one: TestServer, _ other: TestServer, _ client: LiveQueryClient) async throws {
        try await client.subscribe(1, "Note", ["where": ["side": "in"]])
        let id = try await one.create("Note", ["side": "in", "round": -1])
        #expect(try await client.next()["op"] == "create")
        for round in 0..<200 {
            async let goesIn = one.send("PUT", "/classes/Note/\(id)", ["side": "in", "round": .number(Double(round))])
            async let goesOut = other.send(
                "PUT", "/classes/Note/\(id)", ["side": "out", "round": .number(Double(round))])
            _ = try await goesIn.succeeded()
            _ = try await goesOut.succeeded()
        }
        let stored = try await one.send("GET", "/classes/Note/\(id)").succeeded()
        _ = try await other.send("PUT", "/classes/Note/\(id)", ["side": "in", "isLast": true]).succeeded()
        let events = try await events(client)
        let isIn = Self.isIn(after: events.dropLast(), from: true)
        #expect(isIn == (stored["side"] == "in"))
        #expect(events.last?["op"] == (isIn ? "update" : "enter"))
        #expect(events.last?["original"]?["updatedAt"] == stored["updatedAt"])
        #expect(events.count > 150, "\(events.count)")
    }

    @Test("With two concurrent writers, enter and leave alternate and the last event is the stored state")
    func oneProcess() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await Self.cross(server, server, client)
        }
    }

    @Test("With writers in two processes, enter and leave alternate and the last event is the stored state")
    func twoProcesses() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await server.alongside(["liveQuery": ["classNames": ["Note"]]]) { other in
                try await Self.cross(server, other, client)
            }
        }
    }

    @Test("With eight concurrent writers, each increment sends one event, in order, with its original")
    func counter() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await client.subscribe(1, "Note")
            let id = try await server.create("Note", ["number": 0])
            _ = try await client.next()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<25 {
                            _ = try await server.send("PUT", "/classes/Note/\(id)", ["number": .increment(1)])
                                .succeeded()
                        }
                    }
                }
                try await group.waitForAll()
            }
            let events = try await client.next(200)
            #expect(events.map { $0["object"]?["number"] } == (1...200).map { .number(Double($0)) })
            #expect(events.map { $0["original"]?["number"] } == (0...199).map { .number(Double($0)) })
        }
    }

    @Test("Sends leave if a save waits for a write that moves the object in, and moves it out again")
    func leave() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await client.subscribe(1, "Note", ["where": ["side": "in"]])
            let id = try await server.create("Note", ["side": "out"])
            // Written by another program, so nothing is announced.
            let leaving = try await server.whileLocked(
                #"UPDATE "Note" SET "side" = 'in' WHERE "objectId" = '\#(id)'"#, commits: true
            ) {
                let save = Task { try await server.send("PUT", "/classes/Note/\(id)", ["side": "out"]) }
                let isWaiting = try await server.waitsForLocks()
                #expect(isWaiting)
                return save
            }
            _ = try await leaving.value.succeeded()
            let event = try await client.next()
            #expect(event["op"] == "leave" && event["original"]?["side"] == "in", "\(event.text)")
        }
    }

    @Test("A save that waited for another write checks permissions against the row that it left")
    func conditions() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await client.subscribe(1, "Note")
            let ann = try await server.signUp("ann")
            let id = try await server.create("Note", ["number": 0])
            let refused = try await server.whileLocked(
                #"UPDATE "Note" SET "_wperm" = '{}' WHERE "objectId" = '\#(id)'"#, commits: true
            ) {
                let save = Task {
                    try await server.send("PUT", "/classes/Note/\(id)", ["number": 1], as: .session(ann.token))
                }
                let isWaiting = try await server.waitsForLocks()
                #expect(isWaiting)
                return save
            }
            #expect(try await refused.value.code == 101)
            #expect(try await server.send("GET", "/classes/Note/\(id)", as: .master)["number"] == 0)
        }
    }

    @Test("A transaction sends one event per object, with the original from before its first step")
    func transaction() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await client.subscribe(1, "Note")
            let id = try await server.create("Note", ["number": 1])
            _ = try await client.next()
            let path = JSONValue.string("/parse/classes/Note/\(id)")
            let calls: JSONValue = [
                ["method": "PUT", "path": path, "body": ["number": 2]],
                ["method": "PUT", "path": path, "body": ["number": .increment(5)]],
                ["method": "POST", "path": "/parse/classes/Note", "body": ["number": 10]],
            ]
            _ = try await server.send("POST", "/batch", ["transaction": true, "requests": calls]).succeeded()
            let events = try await client.next(2)
            #expect(events[0]["op"] == "update" && events[0]["object"]?["number"] == 7, "\(events[0].text)")
            #expect(events[0]["original"]?["number"] == 1)
            #expect(events[1]["op"] == "create" && events[1]["object"]?["number"] == 10, "\(events[1].text)")
            let undone: JSONValue = [
                ["method": "PUT", "path": path, "body": ["number": 100]],
                ["method": "DELETE", "path": "/parse/classes/Note/none"],
            ]
            #expect(try await server.send("POST", "/batch", ["transaction": true, "requests": undone]).code == 101)
            _ = try await server.send("DELETE", "/classes/Note/\(id)").succeeded()
            let deletion = try await client.next()
            #expect(deletion["op"] == "delete" && deletion["object"]?["number"] == 7, "\(deletion.text)")
        }
    }

    @Test("Events of batches, increments, arrays, files and relations contain the stored values")
    func kinds() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await client.subscribe(1, "Note")
            let calls: JSONValue = .array(
                (0..<3).map {
                    ["method": "POST", "path": "/parse/classes/Note", "body": ["number": .number(Double($0))]]
                })
            _ = try await server.send("POST", "/batch", ["requests": calls]).succeeded()
            let made = try await client.next(3)
            #expect(Set(made.map { $0["object"]?["number"]?.text ?? "" }) == ["0", "1", "2"])
            let id = try await server.create("Note", ["list": [1]])
            _ = try await client.next()
            let other: JSONValue = ["__type": "Pointer", "className": "Note", "objectId": .string(id)]
            let change: JSONValue = [
                "number": .increment(3), "list": ["__op": "Add", "objects": [2]], "inner.a": 1,
                "file": ["__type": "File", "name": "a.txt"], "others": ["__op": "AddRelation", "objects": [other]],
            ]
            let answer = try await server.send("PUT", "/classes/Note/\(id)", change, as: .master).succeeded()
            #expect(answer["number"] == 3 && answer["list"] == [1, 2] && answer["objectId"] == nil)
            let event = try await client.next()
            let object = event["object"]
            #expect(object?["number"] == 3 && object?["list"] == [1, 2] && object?["inner"]?["a"] == 1)
            #expect(object?["others"] == ["__type": "Relation", "className": "Note"])
            #expect(object?["file"]?["url"]?.stringValue?.hasSuffix("a.txt") == true, "\(event.text)")
            #expect(event["original"]?["list"] == [1] && event["original"]?["number"] == nil)
            let members = try await server.find(
                "Note", ["where": ["$relatedTo": ["object": other, "key": "others"]]], as: .master)
            #expect(members.results.count == 1)
        }
    }
}
