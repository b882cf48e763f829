import JSON
import TestSupport
import Testing

@Suite struct DistinctTests {
    @Test("Returns the distinct values of fields of any type, optionally filtered by where")
    func distinct() async throws {
        try await TestServer.run { server in
            let (shops, _) = try await Sales.make(server)
            let pointers = shops.sorted().map { JSONValue.pointer("Shop", $0) }
            let table: [(String, JSONValue?, JSONValue)] = [
                ("item", nil, ["apple", "fig", "pear", "plum"]), ("count", nil, [1, 4, 10]),
                ("price", nil, [1, 2, 3.5]),
                ("ok", nil, [false, true]), ("tags", nil, ["x", "y"]), ("nested.k", nil, [1, 2, 3]),
                ("nested.deep.v", nil, ["q"]), ("shop", nil, .array(pointers)), ("nosuch", nil, []),
                ("nosuch.deep", nil, []),
                ("at", nil, ["2020-01-05T10:20:30.400Z", "2020-02-06T11:21:31.500Z", "2021-12-31T23:59:59.999Z"]),
                ("item", ["ok": true], ["apple", "plum"]), ("count", ["count": ["$gt": 3]], [4, 10]),
                ("item", ["shop": .pointer("Shop", shops[1])], ["plum"]), ("item", ["nosuch": 1], []),
            ]
            for (field, condition, expected) in table {
                var body: JSONObject = ["_method": "GET", "distinct": .string(field)]
                body["where"] = condition
                let answer = try await server.send("POST", "/aggregate/Sale", .object(body), as: .master)
                #expect(answer.status == 200, "\(field): \(answer.text)")
                #expect(same(.array(answer.results), expected), "\(field): \(answer.text)")
            }
            let byQuery = try await server.send(
                "GET", "/aggregate/Sale?distinct=count&where=%7B%22ok%22%3Atrue%7D", as: .master)
            #expect(byQuery.results == [4, 10])
            #expect(try await server.send("GET", "/aggregate/Nosuch?distinct=a", as: .master).results.isEmpty)
            #expect(try await server.send("GET", "/aggregate/Sale?distinct=item").status == 403)
        }
    }

    @Test("Rejects invalid field names with 105, even for unknown classes")
    func names() async throws {
        try await TestServer.run { server in
            _ = try await Sales.make(server)
            for name in ["a b", "item'", "1item", "_hashed_password", "nested.", ".k", "nested.k-1", "$item", "é"] {
                for className in ["Sale", "Nosuch"] {
                    let answer = try await server.send(
                        "POST", "/aggregate/\(className)", ["_method": "GET", "distinct": .string(name)], as: .master)
                    #expect(answer.status == 400, "\(name): \(answer.text)")
                    #expect(answer.json == ["code": 105, "error": .string("Invalid field name: \(name)")], "\(name)")
                }
            }
            _ = try await server.send("POST", "/users", ["username": "ann", "password": "p"], as: .master)
            for name in ["_hashed_password", "_hashed_password.x", "_perishable_token", "_rperm", "_created_at", "__x"]
            {
                let answer = try await server.send(
                    "POST", "/aggregate/_User", ["_method": "GET", "distinct": .string(name)], as: .master)
                #expect(answer.code == 105, "\(name): \(answer.text)")
            }
            // Values that parse-server 7 silently accepts remain accepted.
            for field: JSONValue in ["_id", 5, "nosuch"] {
                let answer = try await server.send(
                    "POST", "/aggregate/Sale", ["_method": "GET", "distinct": field], as: .master)
                #expect(answer.status == 200, "\(field.text): \(answer.text)")
            }
        }
    }
}
