import JSON
import Postgres
import TestSupport
import Testing

/// The cost of a request is proportional to its size, and requests that are too large are rejected.
@Suite struct RequestCostTests {
    private static func expect(
        _ answer: TestAnswer, _ code: Int, _ text: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.status == 400, "\(answer.text.prefix(200))", sourceLocation: sourceLocation)
        #expect(answer.code == code, sourceLocation: sourceLocation)
        #expect(answer.error?.hasPrefix(text) == true, "\(answer.error ?? "")", sourceLocation: sourceLocation)
    }

    @Test(
        "Rejects paths of more than 32 steps in include, keys and excludeKeys",
        arguments: ["include", "keys", "excludeKeys"])
    func longPath(parameter: String) async throws {
        try await TestServer.run { server in
            _ = try await server.create("Node", ["n": 1])
            let path = Array(repeating: "p", count: 20_000).joined(separator: ".")
            let kind = parameter == "include" ? "Include" : "Key"
            for identity in [TestServer.Identity.anonymous, .master] {
                let answer = try await server.find("Node", [.init(parameter): .string(path)], as: identity)
                Self.expect(answer, 102, "\(kind) depth of 20000 exceeds maximum allowed depth of 32")
            }
            let most = Array(repeating: "p", count: 32).joined(separator: ".")
            #expect(try await server.find("Node", [.init(parameter): .string(most)]).status == 200)
        }
    }

    @Test("Limits include to 1000 and keys to 5000 entries and answers within 30 seconds at the limit")
    func longList() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Node", ["n": 1])
            func list(_ count: Int) -> JSONValue { .string((0..<count).map { "a\($0).b" }.joined(separator: ",")) }
            Self.expect(
                try await server.find("Node", ["include": list(20_000)]), 102,
                "Number of include fields (20000) exceeds maximum allowed (1000)")
            Self.expect(
                try await server.find("Node", ["keys": list(20_000)]), 102,
                "Number of keys (20000) exceeds maximum allowed (5000)")
            let clock = ContinuousClock()
            let start = clock.now
            #expect(try await server.find("Node", ["keys": list(5_000), "include": list(1_000)]).status == 200)
            #expect(clock.now - start < .seconds(30))
        }
    }

    @Test("Rejects self-referencing includes whose response exceeds maxResponseSize")
    func multiplyingIncludes() async throws {
        try await TestServer.run(["maxResponseSize": "2mb"]) { server in
            let id = try await server.create("Node", ["n": 1])
            let me = JSONValue.pointer("Node", id)
            let list = JSONValue.array(Array(repeating: me, count: 20))
            _ = try await server.send("PUT", "/classes/Node/\(id)", ["me": list]).succeeded()
            for steps in [4, 5, 12, 32] {
                let path = JSONValue.string(Array(repeating: "me", count: steps).joined(separator: "."))
                for identity in [TestServer.Identity.anonymous, .master] {
                    Self.expect(
                        try await server.find("Node", ["include": path], as: identity), 116,
                        "The response exceeds the maximum size of 2097152 bytes")
                }
                let get = try await server.send("GET", "/classes/Node/\(id)?include=\(path.stringValue ?? "")")
                Self.expect(get, 116, "The response exceeds the maximum size")
            }
            let fitting = try await server.find("Node", ["include": "me.me"]).succeeded()
            let first = fitting.results.first?["me"]?.arrayValue ?? []
            #expect(first.count == 20)
            #expect(first.last?["me"]?.arrayValue?.count == 20)
            #expect(same(first.last?["me"]?.arrayValue?.last?["me"]?.arrayValue?.last, me))
        }
    }

    @Test("Rejects finds, batches and aggregations whose response exceeds maxResponseSize")
    func largeAnswer() async throws {
        try await TestServer.run(["maxResponseSize": "100kb"]) { server in
            let text = String(repeating: "x", count: 30_000)
            for _ in 0..<4 { _ = try await server.create("Large", ["text": .string(text)]) }
            for identity in [TestServer.Identity.anonymous, .master] {
                Self.expect(try await server.find("Large", [:], as: identity), 116, "The response exceeds")
                #expect(try await server.find("Large", ["limit": 3], as: identity).results.count == 3)
            }
            let call: JSONValue = ["method": "GET", "path": "/parse/classes/Large?limit=3"]
            #expect(try await server.send("POST", "/batch", ["requests": [call]]).status == 200)
            let batch = try await server.send("POST", "/batch", ["requests": [call, call]])
            Self.expect(batch, 116, "The response exceeds")
            let aggregate = try await Sales.aggregate(server, [["$project": ["text": 1]]], "Large")
            Self.expect(aggregate, 116, "The response exceeds")
        }
    }

    @Test("Rolls back a transaction whose responses exceed the memory or response limit")
    func largeTransaction() async throws {
        try await TestServer.run(["maxResponseSize": "400kb"]) { server in
            let text = JSONValue.string(String(repeating: "x", count: 30_000))
            let cases: [(TestServer.Identity, Int, String)] = [
                (.anonymous, 3, "The transaction takes too much memory"),
                (.master, 13, "The response exceeds the maximum size"),
            ]
            for (identity, most, refusal) in cases {
                let id = try await server.create("Large", ["list": [text]])
                for count in [most, most + 1] {
                    let calls = (0..<count).map { number -> JSONValue in
                        let body: JSONValue = ["list": .operation("AddUnique", [.string("\(count) \(number)")])]
                        return ["method": "PUT", "path": .string("/parse/classes/Large/\(id)"), "body": body]
                    }
                    let answer = try await server.send(
                        "POST", "/batch", ["requests": .array(calls), "transaction": true], as: identity)
                    if count == most {
                        #expect(answer.status == 200, "\(answer.text.prefix(200))")
                    } else {
                        Self.expect(answer, 116, refusal)
                    }
                    let stored = try await server.send("GET", "/classes/Large/\(id)")
                    #expect(stored["list"]?.arrayValue?.count == 1 + most)
                }
            }
        }
    }

    @Test("Rejects concurrent finds of huge rows with 116 while other requests succeed")
    func largeRows() async throws {
        try await TestServer.run(["maxResponseSize": "1mb"]) { server in
            let id = try await server.create("Large", ["text": "x"])
            let client = PostgresClient(
                configuration: PostgresConfiguration(connectionString: server.databaseURI),
                logger: TestServer.quietLogger)
            try await client.execute(
                script: """
                    INSERT INTO "Large" ("objectId", "createdAt", "updatedAt", "text")
                    SELECT 'id' || n, now(), now(), repeat('x', 3000000) FROM generate_series(1, 99) AS n
                    """)
            await client.shutdown()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        let found = try await server.find("Large")
                        #expect(found.status == 400 && found.code == 116, "\(found.text.prefix(200))")
                    }
                }
                for _ in 0..<20 {
                    group.addTask {
                        #expect(try await server.send("GET", "/classes/Large/\(id)").status == 200)
                        _ = try await server.create("Small", ["text": "x"])
                    }
                }
                try await group.waitForAll()
            }
            let count = try await server.find("Small", ["count": 1, "limit": 0])
            #expect(count["count"] == 20)
        }
    }

    @Test("Limits an ACL to 5000 principals and stores one with 4000")
    func principals() async throws {
        try await TestServer.run { server in
            func acl(_ count: Int) -> JSONObject {
                var object: JSONObject = [:]
                for index in 0..<count { object[.init("user\(index)")] = ["read": true, "write": true] }
                object["*"] = ["read": true]
                return object
            }
            Self.expect(
                try await server.send("POST", "/classes/Node", ["ACL": .object(acl(20_000))], as: .master), 123,
                "Number of principals in an ACL (20001) exceeds maximum allowed (5000)")
            let large = acl(4_000)
            let id = try await server.create("Node", ["x": 1, "ACL": .object(large)], as: .master)
            let found = try await server.send("GET", "/classes/Node/\(id)").succeeded()
            #expect(same(found["ACL"], .object(large)))
        }
    }

    @Test("Adds 20,000 objects to a relation within 30 seconds and limits a Batch to 1000 operations")
    func relationOperations() async throws {
        try await TestServer.run { server in
            func pointers(_ range: Range<Int>) -> [JSONValue] { range.map { .pointer("Song", "id\($0)") } }
            let batch: JSONValue = [
                "__op": "Batch",
                "ops": [
                    .operation("AddRelation", pointers(0..<20_000)),
                    .operation("RemoveRelation", pointers(10..<20_000)),
                ],
            ]
            _ = try await server.create("Song", ["n": 1])
            let id = try await server.create("List", ["songs": .operation("AddRelation", pointers(0..<1))])
            let clock = ContinuousClock()
            let start = clock.now
            _ = try await server.send("PUT", "/classes/List/\(id)", ["songs": batch]).succeeded()
            #expect(clock.now - start < .seconds(30))
            let many = JSONValue.array(pointers(0..<2_000).map { .operation("AddRelation", [$0]) })
            Self.expect(
                try await server.send("PUT", "/classes/List/\(id)", ["songs": ["__op": "Batch", "ops": many]]), 107,
                "Number of operations in a Batch (2000) exceeds maximum allowed (1000)")
        }
    }

    @Test("Applies 900 dotted keys of one object in a single update and rejects thousands")
    func dottedKeys() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Node", ["o": ["kept": 1, "list": [1]], "list": [["n": 1]]])
            var body: JSONObject = [:]
            for index in 0..<900 { body[.init("o.k\(index)")] = .number(Double(index)) }
            for index in 0..<40 { body[.init("o.n\(index)")] = .increment(2) }
            body["o.list"] = .operation("Add", [2])
            body["o.unique"] = .operation("AddUnique", [1, 1])
            body["o.kept"] = ["__op": "Delete"]
            body["o.deep.er"] = true
            body["list.0.n"] = .increment(1)
            body["list.1.n"] = 5
            let answer = try await server.send("PUT", "/classes/Node/\(id)", .object(body))
            #expect(answer.status == 200, "\(answer.text.prefix(300))")
            let node = try await server.send("GET", "/classes/Node/\(id)")
            #expect(node["o"]?["k899"] == 899)
            #expect(node["o"]?["n39"] == 2)
            #expect(node["o"]?["kept"] == nil)
            #expect(node["o"]?["list"] == [1, 2])
            #expect(node["o"]?["unique"] == [1])
            #expect(node["o"]?["deep"]?["er"] == true)
            #expect(node["list"] == [["n": 2], ["n": 5]])
            for index in 0..<5_000 { body[.init("o.k\(index)")] = 1 }
            let refused = try await server.send("PUT", "/classes/Node/\(id)", .object(body))
            Self.expect(refused, 107, "Number of keys of an object")
        }
    }

    @Test("Limits a query's conditions, values, subqueries, sort keys and key depth")
    func conditions() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Node", ["n": 1, "s": "a", "list": [1], "o": ["a": 1]])
            let many = JSONValue.array((0..<6_000).map { ["n": .number(Double($0))] })
            for name in ["$or", "$and", "$nor"] {
                Self.expect(
                    try await server.find("Node", ["where": .object([.init(name): many])]), 102,
                    "Number of conditions (5001) exceeds maximum allowed (5000)")
            }
            let values = JSONValue.array((0..<60_000).map { .number(Double($0)) })
            for name in ["$in", "$nin", "$containedBy"] {
                Self.expect(
                    try await server.find("Node", ["where": ["list": .object([.init(name): values])]]), 102,
                    "Number of values (60000) exceeds maximum allowed (50000)")
            }
            Self.expect(
                try await server.find("Node", ["where": ["list": ["$all": values]]]), 102,
                "Number of values in $all (60000) exceeds maximum allowed (1000)")
            let inner = JSONValue.array(
                (0..<200).map { _ in ["n": ["$inQuery": ["className": "Node", "where": [:]]]] })
            Self.expect(
                try await server.find("Node", ["where": ["$or": inner]]), 102,
                "Number of subqueries (101) exceeds maximum allowed (100)")
            Self.expect(
                try await server.find("Node", ["order": .string((0..<2_000).map { "k\($0)" }.joined(separator: ","))]),
                102, "Number of sort keys (2000) exceeds maximum allowed (100)")
            let deep = Array(repeating: "a", count: 20_000).joined(separator: ".")
            Self.expect(
                try await server.find("Node", ["where": [.init("o." + deep): 1]]), 105, "Number of dots in a key")
            Self.expect(
                try await server.find("Node", ["order": .string("o." + deep)]), 102, "Number of dots in a key")
        }
    }

    @Test("Rejects objects beyond a class's field limit and leaves no partial class behind")
    func fields() async throws {
        try await TestServer.run { server in
            func object(_ range: Range<Int>) -> JSONObject {
                var object: JSONObject = [:]
                for index in range { object[.init("f\(index)")] = 1 }
                return object
            }
            let refused = try await server.send("POST", "/classes/Wide", .object(object(0..<1_100)), as: .master)
            Self.expect(refused, 102, "Number of fields in a class")
            #expect(try await server.send("GET", "/schemas/Wide", as: .master).status == 400)
            #expect(try await server.send("POST", "/classes/Wide", .object(object(0..<700)), as: .master).status == 201)
            let second = try await server.send("POST", "/classes/Wide", .object(object(700..<1_400)), as: .master)
            Self.expect(second, 102, "Number of fields in a class")
            #expect(try await server.find("Wide").results.count == 1)
        }
    }

    @Test("Answers subqueries and aggregation expressions nested 24 levels deep")
    func nesting() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Node", ["o": ["a": 1], "list": [1, 2], "n": 1])
            var condition: JSONValue = [:]
            for _ in 0..<24 {
                condition = ["o": ["$select": ["query": ["className": "Node", "where": condition], "key": "o"]]]
            }
            #expect(try await server.find("Node", ["where": condition]).results.count == 1)
            let expressions: [(String, @Sendable (JSONValue) -> JSONValue)] = [
                ("$cond", { ["$cond": ["if": $0, "then": $0 == "$n" ? 1 : 2, "else": 3]] }),
                ("$size", { ["$size": [["$cond": [true, "$list", $0]]]] }),
                ("$in", { ["$in": [1, ["$cond": [true, "$list", $0]]]] }),
                ("$substr", { ["$substr": ["abc", 0, ["$cond": [true, 1, $0]]]] }),
            ]
            for (name, wrap) in expressions {
                var value: JSONValue = "$n"
                for _ in 0..<24 { value = wrap(value) }
                let pipeline: JSONValue = [["$project": ["value": value]]]
                let answer = try await server.send(
                    "POST", "/aggregate/Node", ["_method": "GET", "pipeline": pipeline], as: .master)
                #expect(answer.status == 200 && answer.results.count == 1, "\(name): \(answer.text.prefix(300))")
            }
        }
    }
}
