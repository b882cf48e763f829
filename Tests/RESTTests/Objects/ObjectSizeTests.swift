import JSON
import TestSupport
import Testing

@Suite struct ObjectSizeTests {
    private static let limit = 64 * 1024
    private static let options: JSONObject = ["maxObjectSize": .string("64kb")]

    private static func text(_ size: Int) -> JSONValue { .string(String(repeating: "x", count: size)) }

    @Test("Rejects creates and updates beyond maxObjectSize with 116 and writes nothing")
    func refused() async throws {
        try await TestServer.run(Self.options) { server in
            let created = try await server.send("POST", "/classes/Song", ["t": Self.text(Self.limit)])
            #expect(created.status == 400 && created.code == 116)
            #expect(created.error == "The object is too large. The limit is 65536 bytes.")
            let fields: JSONObject = [
                "a": Self.text(Self.limit / 2), "list": [Self.text(1000)], "object": ["a": 1], "n": 0,
            ]
            let id = try await server.create("Song", fields)
            let before = try await server.send("GET", "/classes/Song/\(id)").json
            let half = Self.text(Self.limit / 2 - 500)
            let changes: [JSONObject] = [
                ["b": half], ["list": ["__op": "Add", "objects": [half]]],
                ["list": ["__op": "AddUnique", "objects": [half]]], ["object.b": half],
                ["object.l": ["__op": "Add", "objects": [half]]], ["b": Self.text(Self.limit + 1)],
                ["list": ["__op": "Add", "objects": .array((0..<200).map { _ in Self.text(200) })]],
            ]
            for change in changes {
                let answer = try await server.send("PUT", "/classes/Song/\(id)", .object(change))
                #expect(answer.status == 400 && answer.code == 116, "\(change.keys): \(answer.text.prefix(200))")
            }
            #expect(same(try await server.send("GET", "/classes/Song/\(id)").json, before))
            let relations: JSONObject = [
                "b": half,
                "r": [
                    "__op": "AddRelation",
                    "objects": [["__type": "Pointer", "className": "Song", "objectId": .string(id)]],
                ],
            ]
            #expect(try await server.send("PUT", "/classes/Song/\(id)", .object(relations)).code == 116)
        }
    }

    @Test("Repeated additions to a list succeed only up to maxObjectSize")
    func growth() async throws {
        try await TestServer.run(Self.options) { server in
            let id = try await server.create("Song", ["list": []])
            var answers: [Int?] = []
            for number in 0..<8 {
                let items = JSONValue.array(
                    (0..<10).map { .string("\(number)-\($0)-" + String(repeating: "y", count: 990)) })
                answers.append(
                    try await server.send(
                        "PUT", "/classes/Song/\(id)", ["list": ["__op": "Add", "objects": items]]
                    ).code)
            }
            #expect(answers == [nil, nil, nil, nil, nil, nil, 116, 116])
        }
    }

    @Test("Increments that add new keys count toward maxObjectSize")
    func increments() async throws {
        try await TestServer.run(Self.options) { server in
            let id = try await server.create("Song", ["object": ["a": 1], "t": Self.text(Self.limit - 600)])
            var codes: [Int?] = []
            for number in 0..<4 {
                let key = "object.k\(number)" + String(repeating: "k", count: 200)
                let increment: JSONObject = [Name(key): ["__op": "Increment", "amount": 1]]
                codes.append(try await server.send("PUT", "/classes/Song/\(id)", .object(increment)).code)
            }
            #expect(codes.first == .some(nil) && codes.last == 116, "\(codes)")
        }
    }

    @Test("The master key can exceed maxObjectSize; clients can still change small fields or shrink the object")
    func master() async throws {
        try await TestServer.run(Self.options) { server in
            let id = try await server.create("Song", ["t": Self.text(3 * Self.limit), "n": 0], as: .master)
            for change in [["n": 1], ["n": ["__op": "Increment", "amount": 1]], ["t": "short"]] as [JSONObject] {
                #expect(try await server.send("PUT", "/classes/Song/\(id)", .object(change)).status == 200)
            }
            let answer = try await server.send(
                "PUT", "/classes/Song/\(id)", ["t": Self.text(3 * Self.limit)], as: .master)
            #expect(answer.status == 200)
        }
    }

    @Test("Accepts a maxObjectSize above PostgreSQL's own limit")
    func unlimited() async throws {
        try await TestServer.run(["maxObjectSize": "4gb"]) { server in
            let id = try await server.create("Song", ["list": []])
            let answer = try await server.send(
                "PUT", "/classes/Song/\(id)", ["list": ["__op": "Add", "objects": [1]]])
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    @Test("Counts every digit that PostgreSQL writes for a number with a large exponent")
    func exponents() async throws {
        try await TestServer.run(Self.options) { server in
            for number in [1e308, -1e308, Double.leastNonzeroMagnitude] {
                let many = JSONValue.array(Array(repeating: .number(number), count: 1000))
                let refused = try await server.send("POST", "/classes/Song", ["list": many])
                #expect(refused.code == 116, "\(number): \(refused.text.prefix(200))")
                let few = JSONValue.array(Array(repeating: .number(number), count: 100))
                #expect(try await server.send("POST", "/classes/Song", ["list": few]).status == 201)
            }
            let usual = JSONValue.array((0..<8000).map { .number(Double($0)) })
            #expect(try await server.send("POST", "/classes/Song", ["list": usual]).status == 201)
        }
    }
}
