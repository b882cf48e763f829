import JSON
import TestSupport
import Testing

/// Names in requests that could shadow aliases in the server's SQL or names in PostgreSQL.
@Suite struct SecurityShadowedNameTests {
    private static let names = [
        "r", "s", "v", "c", "e", "l", "k", "q", "owningId", "relatedId", "owner", "related", "place", "pair", "owned",
        "updated", "added", "added0", "removed0", "object", "leaf", "doc", "grouped", "a1", "item", "element", "value",
        "member", "role", "child", "held", "name", "unnest", "byName",
    ]

    @Test("A role with fields named like SQL aliases doesn't break adding users to roles")
    func roles() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            var fields: JSONObject = ["name": "zz", "ACL": [:]]
            for name in Self.names where name != "name" { fields[.init(name)] = 1 }
            let made = try await server.send("POST", "/roles", .object(fields))
            #expect(made.status == 201, "\(made.text)")
            let role = try await server.create("_Role", ["name": "Editors", "ACL": [:]], as: .master)
            for operation in ["AddRelation", "RemoveRelation"] {
                let change: JSONValue = ["users": .operation(operation, [.pointer("_User", kim.id)])]
                let answer = try await server.send("PUT", "/roles/\(role)", change, as: .master)
                #expect(answer.status == 200, "\(operation): \(answer.text)")
            }
        }
    }

    @Test("Classes and fields named like SQL aliases behave like any others")
    func classes() async throws {
        try await TestServer.run { server in
            for className in ["Plain", "r", "s", "q", "pair", "owned", "updated", "object", "doc"] {
                var fields: JSONObject = ["list": [1, 2]]
                for name in Self.names { fields[.init(name)] = 1 }
                let first = try await server.create(className, fields)
                let second = try await server.create(className, fields)
                let pointer: JSONValue = .pointer(className, first)
                for operation in ["AddRelation", "RemoveRelation", "AddRelation"] {
                    let change: JSONValue = ["members": .operation(operation, [pointer])]
                    let answer = try await server.send("PUT", "/classes/\(className)/\(second)", change)
                    #expect(answer.status == 200, "\(className) \(operation): \(answer.text)")
                }
                let owner: JSONValue = ["object": .pointer(className, second), "key": "members"]
                let related = try await server.find(className, ["where": ["$relatedTo": owner]])
                #expect(related.results.count == 1, "\(className): \(related.text)")
                let inner: JSONValue = [
                    "where": ["r": 1], "className": .string(className), "order": "s,v", "limit": 1,
                ]
                let selected: JSONValue = ["list": ["$select": ["query": inner, "key": "list"]]]
                let chosen = try await server.find(className, ["where": selected, "order": "s,v,grouped"])
                #expect(chosen.results.count == 2, "\(className): \(chosen.text)")
                for name in Self.names {
                    let group: JSONValue = ["$group": ["_id": .string("$" + name), "n": ["$sum": 1]]]
                    let answer = try await server.send(
                        "POST", "/aggregate/\(className)", ["_method": "GET", "pipeline": [group]], as: .master)
                    #expect(answer.results.first?["n"] == 2, "\(className).\(name): \(answer.text)")
                }
            }
        }
    }

    @Test("Rejects fields named like PostgreSQL's system columns and classes named like its catalogs")
    func systemNames() async throws {
        try await TestServer.run { server in
            for name in ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"] {
                let answer = try await server.send("POST", "/classes/Thing", [.init(name): 1])
                #expect(answer.status == 400 && answer.code == 105, "\(name): \(answer.text)")
                let declared: JSONValue = ["className": "Other", "fields": [.init(name): ["type": "String"]]]
                let schema = try await server.send("POST", "/schemas/Other", declared, as: .master)
                #expect(schema.status == 400 && schema.code == 105, "\(name): \(schema.text)")
            }
            for name in ["pg_class", "pg_authid", "pg_stat_activity"] {
                let created = try await server.send("POST", "/classes/\(name)", ["relname": "x"])
                #expect(created.status == 400 && created.code == 107, "\(name): \(created.text)")
                let found = try await server.find(name, as: .master)
                #expect(found.status < 500 && (found.json["results"]?.arrayValue ?? []).isEmpty, "\(found.text)")
                let schema = try await server.send("POST", "/schemas/\(name)", [:], as: .master)
                #expect(schema.status == 400, "\(name): \(schema.text)")
            }
        }
    }

    @Test("A field named ts_rank_cd doesn't conflict with search scores")
    func scores() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Text", ["words": "fox", "ts_rank_cd": 2])
            _ = try await server.create("Text", ["words": "fox fox", "ts_rank_cd": 1])
            let search: JSONValue = ["words": ["$text": ["$search": ["$term": "fox"]]]]
            let found = try await server.find(
                "Text", ["where": search, "keys": "$score,ts_rank_cd", "order": "ts_rank_cd"])
            #expect(found.results.map { $0["ts_rank_cd"] ?? .null } == [1, 2], "\(found.text)")
        }
    }

    @Test("Overlong ids in relations and internal classes without ids cause no server error")
    func values() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Thing", ["l": [["a": ["b": 1]]]])
            let long = String(repeating: "x", count: 121)
            let change: JSONValue = ["members": .operation("AddRelation", [.pointer("Thing", long)])]
            let related = try await server.send("PUT", "/classes/Thing/\(id)", change)
            #expect(related.status == 400, "\(related.text)")
            let removed = try await server.send("PUT", "/classes/Thing/\(id)", ["l.a.b": ["__op": "Delete"]])
            #expect(removed.status < 500, "\(removed.text)")
            for className in ["_Hooks", "_GlobalConfig", "_GraphQLConfig"] {
                for method in ["GET", "PUT", "DELETE"] {
                    for path in ["/classes/\(className)/1", "/classes/\(className)"] {
                        let body: JSONValue? = method == "PUT" ? ["x": 1] : nil
                        let answer = try await server.send(method, path, body, as: .master)
                        #expect(answer.status < 500, "\(method) \(path): \(answer.text)")
                    }
                }
                let made = try await server.send("POST", "/classes/\(className)", ["x": 1], as: .master)
                #expect(made.status < 500, "\(className): \(made.text)")
            }
        }
    }
}
