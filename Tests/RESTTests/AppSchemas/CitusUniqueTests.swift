import JSON
import TestSupport
import Testing

/// Indexes that keep objects apart whose rows Citus spreads over its workers (`distribution.unique`, `lookup`).
@Suite(
    "Unique indexes spread by Citus", .enabled("PostgreSQL has no Citus here") { try await CitusCluster.isInstalled() })
struct CitusUniqueTests {
    /// By another field than the index has, and by ids.
    private static let options = CitusRowsTests.distribution(
        ["Message": ["by": "room"], "*": ["by": "objectId"]], ["unique": "lookup"])

    private static func run(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await CitusCluster.run { cluster in try await TestServer.run(on: cluster.uri, options, body) }
    }

    /// Makes two classes whose texts are unique, those of a class only where it is open.
    private static func makeClasses(_ server: TestServer) async throws {
        let fields: JSONValue = [
            "room": ["type": "String"], "text": ["type": "String"], "state": ["type": "String"],
            "n": ["type": "Number"], "at": ["type": "Date"],
        ]
        for (name, options) in [("Message", ["$where": ["state": "open"]]), ("Note", [:])] as [(String, JSONObject)] {
            let index = options.merging(["text": 1, "$unique": true]) { $1 }
            let body: JSONValue = ["fields": fields, "indexes": ["one": .object(index)]]
            _ = try await server.send("POST", "/schemas/\(name)", body, as: .master).succeeded()
        }
    }

    private static func index(_ server: TestServer, _ className: String, _ fields: JSONObject) async throws
        -> TestAnswer
    {
        let index = fields.merging(["$unique": true]) { $1 }
        let body: JSONValue = ["indexes": ["more": .object(index)]]
        return try await server.send("PUT", "/schemas/\(className)", body, as: .master)
    }

    /// What is kept of texts besides, next to what should be.
    private static func expectWhole(_ server: TestServer) async throws {
        let kept = try await server.texts(
            "SELECT \"class\" || \"value\" || \"owner\" FROM \"_roost_unique\" WHERE \"owner\" <> ''")
        let messages = try await server.texts(
            """
            SELECT 'Message' || jsonb_build_array("text")::text || jsonb_build_array("objectId", "room")::text FROM "Message"
            WHERE "text" IS NOT NULL AND "state" = 'open'
            """)
        let notes = try await server.texts(
            """
            SELECT 'Note' || jsonb_build_array("text")::text || "objectId" FROM "Note" WHERE "text" IS NOT NULL
            """)
        #expect(kept.sorted() == (messages + notes).sorted())
    }

    @Test("Of objects that take one value at once one is made, and what is given up is free")
    func writes() async throws {
        try await Self.run { server in
            try await Self.makeClasses(server)
            for name in ["Message", "Note"] {
                @Sendable func body(_ text: String, _ room: Int) -> JSONValue {
                    ["text": .string(text), "room": .string("r\(room)"), "state": "open"]
                }
                let path = "/classes/\(name)"
                let made = try await concurrently(8) { try await server.send("POST", path, body("a", $0)) }
                #expect(made.count { $0.status == 201 } == 1 && made.count { $0.code == 137 } == 7)
                let first = path + "/" + (made.compactMap { $0["objectId"]?.stringValue }.first ?? "")
                let second = path + "/" + (try await server.create(name, ["text": "b", "room": "r", "state": "open"]))
                let taken = try await server.send("PUT", second, ["text": "a"])
                #expect(taken.code == 137 && taken.status == 400)
                // What no index holds is no matter: nothing at all, and letters that only look alike.
                for text: JSONValue in [.null, .null, "\u{E9}", "e\u{301}"] {
                    _ = try await server.create(name, ["text": text, "room": "r", "state": "open"])
                }
                _ = try await server.send("PUT", first, ["text": "c", "n": 1]).succeeded()
                _ = try await server.send("PUT", first, ["n": ["__op": "Increment", "amount": 1]]).succeeded()
                _ = try await server.send("PUT", second, ["text": "a"]).succeeded()
                try await Self.expectWhole(server)
                // Those who change one object at once leave what the last one wrote.
                let changed = try await concurrently(12) { index in
                    let change: JSONValue = ["text": .string("x\(index)")]
                    if index % 3 > 0 { return try await server.send("PUT", first, change).status }
                    let request: JSONValue = ["method": "PUT", "path": .string("/parse" + first), "body": change]
                    return try await server.send("POST", "/batch", ["requests": [request], "transaction": true]).status
                }
                #expect(changed.allSatisfy { $0 == 200 })
                let requests: [JSONValue] = ["new", "a"].map {
                    ["method": "POST", "path": .string("/parse" + path), "body": body($0, 1)]
                }
                let batch = try await server.send(
                    "POST", "/batch", ["requests": .array(requests), "transaction": true])
                #expect(batch.code == 137)
                #expect(try await server.send("POST", path, body("new", 2)).status == 201)
                _ = try await server.send("DELETE", second).succeeded()
                #expect(try await server.send("POST", path, body("a", 3)).status == 201)
                try await Self.expectWhole(server)
            }
        }
    }

    @Test("A condition lets values come back, and several fields count together")
    func conditions() async throws {
        try await Self.run { server in
            try await Self.makeClasses(server)
            let closed: JSONObject = ["text": "a", "room": "r", "state": "closed"]
            let id = try await server.create("Message", closed)
            _ = try await server.create("Message", closed)
            _ = try await server.create("Message", ["text": "a", "room": "q", "state": "open"])
            let opened = try await server.send("PUT", "/classes/Message/\(id)", ["state": "open"])
            #expect(opened.code == 137)
            try await Self.expectWhole(server)
            _ = try await Self.index(server, "Note", ["n": 1, "at": -1]).succeeded()
            func note(_ n: Double, _ at: String) async throws -> Int? {
                let body: JSONValue = ["n": .number(n), "at": ["__type": "Date", "iso": .string(at)]]
                return try await server.send("POST", "/classes/Note", body).code
            }
            #expect(try await note(1, "2024-01-01T00:00:00.000Z") == nil)
            #expect(try await note(1, "2024-01-01T01:00:00.000+01:00") == 137)
            #expect(try await note(1, "2024-01-01T00:00:00.001Z") == nil)
            #expect(try await note(1.5, "2024-01-01T00:00:00.000Z") == nil)
            let listed = try await server.send("GET", "/schemas/Note", as: .master)
            #expect(listed["indexes"]?["more"] == ["n": 1, "at": -1, "$unique": true])
        }
    }

    @Test("An index of objects that are there is made when all are different, beside those who write")
    func objectsThatAreThere() async throws {
        try await Self.run { server in
            try await Self.makeClasses(server)
            for n in [1, 2, 2] { _ = try await server.create("Note", ["n": .number(Double(n))]) }
            #expect(try await Self.index(server, "Note", ["n": 1]).code == 137)
            let schema = try await server.send("GET", "/schemas/Note", as: .master)
            #expect(schema["indexes"]?["more"] == nil && schema["indexes"]?["one"] != nil)
            #expect(try await server.send("POST", "/classes/Note", ["n": 1]).status == 201)
            #expect(try await server.texts("SELECT \"value\" FROM \"_roost_unique\" WHERE \"owner\" <> ''") == [])
            _ = try await server.send("DELETE", "/purge/Note", as: .master).succeeded()

            // Another process hears of the index, and keeps its rows; it has the fields in the order of the database.
            try await TestServer.run(on: server.databaseURI, Self.options) { other in
                async let made = Self.index(server, "Note", ["state": 1, "n": 1])
                let answers = try await concurrently(4) { client in
                    var codes: [Int?] = []
                    for n in 0..<60 {
                        let body: JSONValue = ["n": .number(Double(client / 2 * 1000 + n)), "state": "s"]
                        codes.append(
                            try await (client % 2 == 0 ? server : other).send("POST", "/classes/Note", body).code)
                        try await Task.sleep(for: .milliseconds(25))
                    }
                    return codes
                }
                let isMade = try await made.status == 200
                let twice = try await server.texts("SELECT \"n\"::text FROM \"Note\" GROUP BY 1 HAVING count(*) > 1")
                // Both clients of one number may have been first, before there was an index.
                #expect(isMade == twice.isEmpty)
                #expect(answers.joined().allSatisfy { $0 == nil || $0 == 137 })
                if !isMade {
                    _ = try await server.send("DELETE", "/purge/Note", as: .master).succeeded()
                    _ = try await Self.index(server, "Note", ["state": 1, "n": 1]).succeeded()
                }
                _ = try await server.create("Note", ["n": 5000, "state": "s"])
                #expect(try await other.send("POST", "/classes/Note", ["n": 5000, "state": "s"]).code == 137)
                _ = try await other.create("Note", ["n": 6000, "state": "s"])
                #expect(try await server.send("POST", "/classes/Note", ["n": 6000, "state": "s"]).code == 137)
            }
        }
    }

    @Test("Rows go with their index, field, objects and class; without the option there are none")
    func ends() async throws {
        try await CitusCluster.run { cluster in
            try await TestServer.run(on: cluster.uri, Self.options) { server in
                func rows() async throws -> [String] {
                    try await server.texts("SELECT \"class\" FROM \"_roost_unique\" WHERE \"owner\" <> '' ORDER BY 1")
                }
                func change(_ body: JSONValue) async throws {
                    _ = try await server.send("PUT", "/schemas/Note", body, as: .master).succeeded()
                }
                try await Self.makeClasses(server)
                _ = try await Self.index(server, "Note", ["n": 1]).succeeded()
                _ = try await server.create("Note", ["text": "a", "n": 1])
                _ = try await server.create("Message", ["text": "a", "room": "r", "state": "open"])
                #expect(try await rows() == ["Message", "Note", "Note"])
                try await change(["indexes": ["more": ["__op": "Delete"]]])
                #expect(try await rows() == ["Message", "Note"])
                try await change(["fields": ["text": ["__op": "Delete"]]])
                #expect(try await rows() == ["Message"])
                _ = try await server.send("DELETE", "/purge/Message", as: .master).succeeded()
                #expect(try await rows() == [])
                _ = try await server.create("Message", ["text": "a", "room": "r", "state": "open"])
                try await server.execute("DELETE FROM \"Message\"")
                _ = try await server.send("DELETE", "/schemas/Message", as: .master).succeeded()
                #expect(try await rows() == [])
            }
            let without = CitusRowsTests.distribution(["*": ["by": "objectId"]])
            try await TestServer.run(on: cluster.uri, without) { server in
                let refused = try await Self.index(server, "Note", ["n": 1])
                #expect(refused.code == 102 && refused.error?.contains("distribution.unique") == true)
                #expect(try await server.rows("SELECT to_regclass('\"_roost_unique\"')::text") == [[nil]])
            }
        }
    }

    @Test(
        "Values too long for an index, two objects of one id in two rooms, moments of changes, names that others have")
    func oddities() async throws {
        let options = Self.options.merging(["allowCustomObjectId": true]) { $1 }
        try await CitusCluster.run { cluster in
            try await TestServer.run(on: cluster.uri, options) { server in
                try await Self.makeClasses(server)
                let long = String((0..<2000).map { _ in Character(UnicodeScalar(UInt8.random(in: 35...90))) })
                for name in ["Message", "Note"] {
                    let body: JSONValue = ["text": .string(long), "room": "r", "state": "open"]
                    _ = try await server.send("POST", "/classes/\(name)", body).succeeded()
                    #expect(try await server.send("POST", "/classes/\(name)", body).code == 137)
                }
                func message(_ room: String, _ text: String) async throws -> Int? {
                    let body: JSONValue = [
                        "objectId": "same", "room": .string(room), "text": .string(text), "state": "open",
                    ]
                    return try await server.send("POST", "/classes/Message", body).code
                }
                #expect(try await message("r1", "a") == nil)
                #expect(try await message("r2", "a") == 137)
                #expect(try await message("r2", "b") == nil)
                #expect(try await message("same r3", "c") == nil)
                let moment: JSONObject = [
                    "text": 1, "$where": ["updatedAt": ["$gt": ["__type": "Date", "iso": "2020-01-01T00:00:00.000Z"]]],
                ]
                _ = try await server.create("Old", ["text": "z"])
                _ = try await server.create("Old", ["text": "z"])
                try await server.execute("UPDATE \"Old\" SET \"updatedAt\" = '2019-01-01'")
                _ = try await Self.index(server, "Old", moment).succeeded()
                var codes: [Int?] = []
                for object in try await server.find("Old").results {
                    let path = "/classes/Old/\(object["objectId"]?.stringValue ?? "")"
                    codes.append(try await server.send("PUT", path, ["n": 1]).code)
                }
                #expect(codes == [nil, 137])
                // Users' names are unique, whatever an index of them is called.
                let phone: JSONValue = [
                    "fields": ["phone": ["type": "String"]],
                    "indexes": ["_User_unique_username": ["phone": 1, "$unique": true]],
                ]
                _ = try await server.send("PUT", "/schemas/_User", phone, as: .master).succeeded()
                _ = try await server.signUp("kim", ["phone": "1"])
                let names = try await concurrently(4) { _ in
                    try await server.send("POST", "/users", ["username": "lou", "password": "x"])
                }
                #expect(names.count { $0.status == 201 } == 1 && names.count { $0.code == 202 } == 3)
                let taken = try await server.send("POST", "/users", ["username": "max", "password": "x", "phone": "1"])
                #expect(taken.code == 137)
            }
        }
    }

    @Test("An index that goes while it is made is not there, nor is a class; one whose making broke off is made again")
    func interruptions() async throws {
        try await CitusCluster.run { cluster in
            @Sendable func index(_ server: TestServer) async throws -> JSONValue? {
                try await server.send("GET", "/schemas/Note", as: .master)["indexes"]?["more"]
            }
            try await TestServer.run(on: cluster.uri, Self.options) { server in
                try await Self.makeClasses(server)
                func listed(_ path: String) async throws {
                    while try await server.send("GET", path, as: .master)["indexes"]?["more"] == nil {
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
                async let dropped = Self.index(server, "Message", ["n": 1])
                try await listed("/schemas/Message")
                _ = try await server.send("DELETE", "/schemas/Message", as: .master).succeeded()
                #expect(try await dropped.code == 103)
                #expect(try await server.send("GET", "/schemas/Message", as: .master).code == 103)
                async let removed = Self.index(server, "Note", ["n": 1])
                try await listed("/schemas/Note")
                let removal: JSONValue = ["indexes": ["more": ["__op": "Delete"]]]
                _ = try await server.send("PUT", "/schemas/Note", removal, as: .master).succeeded()
                #expect(try await removed.code == 102)
                for n in [1.0, 2.0] { _ = try await server.create("Note", ["n": .number(n)]) }
                _ = try await Self.index(server, "Note", ["n": 1]).succeeded()
                // As a process leaves it that is killed before it has made all rows.
                try await server.execute(
                    "DELETE FROM \"_roost_unique\" WHERE \"owner\" = '' OR \"value\" = '[2]'")
            }
            try await TestServer.run(on: cluster.uri, Self.options) { server in
                let before = try await index(server)
                #expect(before == nil)
                let doubled = try await server.create("Note", ["n": 2])
                #expect(try await Self.index(server, "Note", ["n": 1]).code == 137)
                _ = try await server.send("DELETE", "/classes/Note/\(doubled)").succeeded()
                _ = try await Self.index(server, "Note", ["n": 1]).succeeded()
                #expect(try await server.send("POST", "/classes/Note", ["n": 2]).code == 137)
                try await server.execute("SELECT undistribute_table('\"Note\"')")
            }
            try await TestServer.run(on: cluster.uri, Self.options) { server in
                let brought = try await index(server)
                #expect(brought == nil)
                _ = try await Self.index(server, "Note", ["n": 1]).succeeded()
                #expect(try await server.send("POST", "/classes/Note", ["n": 2]).code == 137)
            }
        }
    }
}
