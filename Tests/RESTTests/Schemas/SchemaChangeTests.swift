import JSON
import TestSupport
import Testing

@Suite struct SchemaChangeTests {
    private static func place(_ latitude: Double) -> JSONValue {
        ["__type": "GeoPoint", "latitude": .number(latitude), "longitude": 1]
    }

    @Test("Schemas allow one GeoPoint field per class; objects can add more, one per write")
    func places() async throws {
        try await TestServer.run { server in
            let point: JSONValue = ["type": "GeoPoint"]
            _ = try await server.send("POST", "/schemas/Shop", ["fields": ["a": point]], as: .master).succeeded()
            let delete: JSONValue = ["__op": "Delete"]
            for (fields, code) in [
                (["b": point], 111), (["a": delete, "b": point], nil), (["b": delete, "c": point, "d": point], 111),
                (["d": point, "b": delete], nil), (["d": delete], nil), (["a": point], nil),
            ] as [(JSONValue, Int?)] {
                let answer = try await server.send("PUT", "/schemas/Shop", ["fields": fields], as: .master)
                #expect(answer.code == code, "\(fields): \(answer.text)")
            }
            // Fields added by objects, one at a time.
            let id = try await server.create("Shop", ["a": Self.place(1)])
            let second = try await server.send("POST", "/classes/Shop", ["b": Self.place(2)])
            #expect(second.status == 201, "\(second.text)")
            let third = try await server.send("PUT", "/classes/Shop/\(id)", ["c": Self.place(3)])
            #expect(third.status == 200, "\(third.text)")
            let shop = try await server.send("GET", "/classes/Shop/\(id)").succeeded()
            #expect(same(shop["a"], Self.place(1)) && same(shop["c"], Self.place(3)), "\(shop.text)")
            for (method, path) in [("POST", "/classes/Shop"), ("PUT", "/classes/Shop/\(id)"), ("POST", "/classes/New")]
            {
                let answer = try await server.send(method, path, ["d": Self.place(1), "e": Self.place(2)])
                #expect(answer.code == 111, "\(method) \(path): \(answer.text)")
                #expect(answer.error == "there can only be one geopoint field in a class")
            }
            // Other changes of the class remain possible.
            let more = try await server.send("PUT", "/schemas/Shop", ["fields": ["n": ["type": "Number"]]], as: .master)
            #expect(more.status == 200, "\(more.text)")
        }
    }

    @Test("A column left by a failed field deletion accepts only values of its own type")
    func leftBehind() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Song", ["title": "A"])
            try await server.execute(
                """
                ALTER TABLE "Song" ADD COLUMN "rank" double precision, ADD COLUMN "note" text, ADD COLUMN "plays" integer;
                UPDATE "Song" SET "rank" = 4, "plays" = 7;
                """)
            for body in [["rank": "four"], ["rank": ["a": 1]], ["note": 1], ["plays": true]] as [JSONValue] {
                for (method, path) in [("POST", "/classes/Song"), ("PUT", "/classes/Song/\(id)")] {
                    let answer = try await server.send(method, path, body)
                    #expect(answer.code == 111, "\(method) \(body): \(answer.text)")
                }
            }
            _ = try await server.send("PUT", "/classes/Song/\(id)", ["note": "b"]).succeeded()
            _ = try await server.create("Song", ["rank": 5, "plays": 1])
            let song = try await server.send("GET", "/classes/Song/\(id)")
            #expect(song["rank"] == 4 && song["note"] == "b" && song["plays"] == 7, "\(song.text)")
        }
    }

    @Test(
        "Listing schemas succeeds if a table is dropped while its indexes are read",
        arguments: ["/schemas/Song", "/schemas"])
    func droppedMeanwhile(path: String) async throws {
        try await TestServer.run(["lockTimeout": 60_000]) { server in
            _ = try await server.create("Song", ["title": "A"])
            try await server.execute("CREATE INDEX own ON \"Song\" (lower(title))")
            // The listing waits for the table's lock, then finds no table.
            let list = try await server.whileLocked("DROP TABLE \"Song\"", commits: true) {
                let list = Task { try await server.send("GET", path, as: .master) }
                let isWaiting = try await server.waitsForLocks()
                #expect(isWaiting)
                return list
            }
            let answer = try await list.value
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    @Test("Null classLevelPermissions open a class, and invalid values are rejected with 107", arguments: [7, 9])
    func openAgain(preset: Int) async throws {
        try await TestServer.run(["preset": .number(Double(preset))]) { server in
            let made = try await server.send("POST", "/schemas/Note", ["classLevelPermissions": .null], as: .master)
            #expect(made["classLevelPermissions"]?["find"] == ["*": true], "\(made.text)")
            _ = try await server.send(
                "PUT", "/schemas/Note", ["classLevelPermissions": ["get": ["*": true]]], as: .master
            ).succeeded()
            #expect(try await server.find("Note").code == 119)
            let answer = try await server.send("PUT", "/schemas/Note", ["classLevelPermissions": .null], as: .master)
            #expect(answer["classLevelPermissions"]?["find"] == ["*": true], "\(answer.text)")
            _ = try await server.find("Note").succeeded()
            _ = try await server.create("Note", ["n": 1])
            let refused: [(JSONValue, String)] = [
                ("open", "0 is not a valid operation for class level permissions"),
                ([1], "0 is not a valid operation for class level permissions"), (false, "invalid JSON"),
                (0, "invalid JSON"), ("", "invalid JSON"),
            ]
            for (permissions, text) in refused {
                let answer = try await server.send(
                    "PUT", "/schemas/Note", ["classLevelPermissions": permissions], as: .master)
                #expect(answer.code == 107 && answer.error == text, "\(permissions): \(answer.text)")
            }
            let list = try await server.send(
                "PUT", "/schemas/Note", ["classLevelPermissions": ["readUserFields": "x"]], as: .master)
            #expect(
                list.error
                    == "'x' is not a valid value for class level permissions readUserFields - must be an array")
            try await server.alongside(["preset": .number(Double(preset))]) { other in
                let read = try await other.send("GET", "/schemas/Note", as: .master).succeeded()
                #expect(read["classLevelPermissions"]?["find"] == ["*": true], "\(read.text)")
            }
        }
    }

    @Test("A number, true or an empty list as classLevelPermissions denies clients all access")
    func empty() async throws {
        try await TestServer.run { server in
            for value: JSONValue in [1234, true, []] {
                _ = try await server.send(
                    "PUT", "/schemas/_Role", ["classLevelPermissions": ["find": ["*": true]]], as: .master
                ).succeeded()
                let answer = try await server.send(
                    "PUT", "/schemas/_Role", ["classLevelPermissions": value], as: .master
                ).succeeded()
                #expect(answer["classLevelPermissions"]?["find"] == [:], "\(value): \(answer.text)")
                #expect(answer["classLevelPermissions"]?["protectedFields"] == [:], "\(value): \(answer.text)")
                #expect(try await server.find("_Role").code == 119)
            }
        }
    }

    @Test("A schema update returns the class's protected fields merged with the protectedFields option")
    func optionalProtectedFields() async throws {
        let options: JSONObject = ["protectedFields": ["_User": ["*": ["email", "city"], "role:a": ["x"]]]]
        try await TestServer.run(options) { server in
            let first = try await server.send(
                "PUT", "/schemas/_User", ["fields": ["city": ["type": "String"]]], as: .master
            ).succeeded()
            let shown = first["classLevelPermissions"]?["protectedFields"]
            #expect(shown == ["*": ["email", "city"], "role:a": ["x"]], "\(first.text)")
            let second = try await server.send(
                "PUT", "/schemas/_User", ["classLevelPermissions": ["protectedFields": ["*": ["city"]]]], as: .master
            ).succeeded()
            let both = second["classLevelPermissions"]?["protectedFields"]
            #expect(both == ["*": ["city", "email"], "role:a": ["x"]], "\(second.text)")
            // The class itself returns only its own protected fields.
            let read = try await server.send("GET", "/schemas/_User", as: .master).succeeded()
            #expect(read["classLevelPermissions"]?["protectedFields"] == ["*": ["city"]], "\(read.text)")
        }
    }

    @Test("Protected-field rules may name a missing user field and apply once it exists")
    func userFieldsToCome() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let permissions: JSONObject = [
                "find": ["*": true], "get": ["*": true], "create": ["*": true], "addField": ["*": true],
                "protectedFields": ["*": ["secret"], "userField:nosuch": [], "userField:text": []],
            ]
            let body: JSONValue = [
                "fields": ["secret": ["type": "String"], "text": ["type": "String"]],
                "classLevelPermissions": .object(permissions),
            ]
            _ = try await server.send("POST", "/schemas/Note", body, as: .master).succeeded()
            _ = try await server.send(
                "PUT", "/schemas/Note", ["classLevelPermissions": .object(permissions)], as: .master
            ).succeeded()
            let id = try await server.create("Note", ["secret": "s", "text": "t"])
            for identity: TestServer.Identity in [.anonymous, .session(kim.token)] {
                let read = try await server.send("GET", "/classes/Note/\(id)", as: identity).succeeded()
                #expect(read["secret"] == nil && read["text"] == "t", "\(read.text)")
            }
            let own = try await server.create("Note", ["secret": "s", "nosuch": .pointer("_User", kim.id)])
            let read = try await server.send("GET", "/classes/Note/\(own)", as: .session(kim.token)).succeeded()
            #expect(read["secret"] == "s", "\(read.text)")
            #expect(try await server.send("GET", "/classes/Note/\(own)")["secret"] == nil)
            for (set, code) in [(["userField:nosuch": ["none"]], 107), (["userField:nosuch": "s"], 107)]
                as [(JSONValue, Int)]
            {
                let answer = try await server.send(
                    "PUT", "/schemas/Note", ["classLevelPermissions": ["protectedFields": set]], as: .master)
                #expect(answer.code == code, "\(set)")
            }
        }
    }

    @Test("Default polygons are stored and returned as closed rings")
    func polygonDefaults() async throws {
        try await TestServer.run { server in
            let open: JSONValue = ["__type": "Polygon", "coordinates": [[0, 0], [0, 1], [1, 1]]]
            let closed: JSONValue = ["__type": "Polygon", "coordinates": [[0, 0], [0, 1], [1, 1], [0, 0]]]
            for (name, value) in [("Open", open), ("Closed", closed)] {
                let fields: JSONValue = ["area": ["type": "Polygon", "defaultValue": value]]
                _ = try await server.send("POST", "/schemas/\(name)", ["fields": fields], as: .master).succeeded()
                let made = try await server.send("POST", "/classes/\(name)", [:]).succeeded()
                #expect(same(made["area"], closed), "\(made.text)")
                let read = try await server.send("GET", "/classes/\(name)/\(made.string("objectId"))").succeeded()
                #expect(same(read["area"], closed), "\(read.text)")
            }
        }
    }
}
