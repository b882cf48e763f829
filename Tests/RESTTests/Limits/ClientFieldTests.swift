import JSON
import TestSupport
import Testing

@Suite("Fields that clients add to classes")
struct ClientFieldTests {
    private static func fields(_ names: Range<Int>) -> JSONObject {
        JSONObject(uniqueKeysWithValues: names.map { (Name("f\($0)"), 1) })
    }

    @Test("maxClientFields limits clients but not the master key, and existing fields stay writable")
    func bound() async throws {
        try await TestServer.run(["maxClientFields": 5]) { server in
            let song = try await server.create("Song", Self.fields(0..<3))
            _ = try await server.create("Song", Self.fields(3..<5))
            for (method, path, body) in [
                ("POST", "/classes/Song", Self.fields(4..<6)), ("PUT", "/classes/Song/\(song)", ["f7": 1]),
                ("PUT", "/classes/Song/\(song)", ["nested.member": 1]),
            ] as [(String, String, JSONObject)] {
                let refused = try await server.send(method, path, .object(body))
                #expect(refused.code == 119, "\(refused.text)")
                #expect(refused.text.contains("maxClientFields"))
            }
            #expect(
                try await server.send("POST", "/classes/Song", .object(Self.fields(0..<9)), as: .master).status == 201)
            #expect(try await server.send("PUT", "/classes/Song/\(song)", .object(Self.fields(5..<9))).status == 200)
            #expect(try await server.send("PUT", "/classes/Song/\(song)", ["f9": 1]).code == 119)
        }
    }

    @Test("maxClientFields applies to system classes too, on every route that creates their objects")
    func systemClasses() async throws {
        try await TestServer.run(["maxClientFields": 2]) { server in
            let kim = TestServer.Identity.session(try await server.signUp("kim").token)
            let bodies: [(path: String, body: JSONObject)] = [
                ("/sessions", [:]), ("/classes/_Session", [:]), ("/roles", ["name": "readers", "ACL": [:]]),
                ("/installations", ["deviceType": "ios", "installationId": "device"]),
                ("/users", ["username": "ann", "password": "p"]), ("/users", ["authData": ["anonymous": ["id": "a"]]]),
            ]
            for (path, body) in bodies {
                let refused = try await server.send(
                    "POST", path, .object(body.merging(Self.fields(0..<3)) { $1 }), as: kim)
                #expect(refused.code == 119 && refused.text.contains("maxClientFields"), "\(path): \(refused.text)")
            }
            #expect(try await server.send("POST", "/sessions", .object(Self.fields(0..<2)), as: kim).status == 201)
            #expect(try await server.send("POST", "/sessions", .object(Self.fields(1..<3)), as: kim).code == 119)
        }
    }

    @Test("maxClientFields applies even when several requests add fields at once")
    func concurrency() async throws {
        try await TestServer.run(["maxClientFields": 10]) { server in
            _ = try await server.create("Song", ["f0": 1])
            let codes = try await withThrowingTaskGroup(of: Int?.self) { group in
                for number in 1...9 {
                    let body = JSONObject(uniqueKeysWithValues: (0..<4).map { (Name("f\(number)x\($0)"), 1) })
                    group.addTask { try await server.send("POST", "/classes/Song", .object(body)).code }
                }
                return try await group.reduce(into: [Int?]()) { $0.append($1) }
            }
            #expect(codes.count { $0 == nil } == 2 && codes.count { $0 == 119 } == 7, "\(codes)")
        }
    }

    @Test("Clients that add fields cause one warning per class")
    func warning() async throws {
        let lines = LogLines()
        try await TestServer.run(logger: lines.logger) { server in
            _ = try await server.create("Song", ["title": "a"], as: .master)
            _ = try await server.create("Song", ["added": 1], as: .master)
            func warnings() -> [String] { lines.all.filter { $0.contains("a client added fields to a class") } }
            #expect(warnings().isEmpty)
            for name in ["one", "two"] as [Name] { _ = try await server.create("Song", [name: 1]) }
            #expect(warnings().count == 1)
            #expect(warnings().first?.contains("class=Song") == true)
        }
    }
}
