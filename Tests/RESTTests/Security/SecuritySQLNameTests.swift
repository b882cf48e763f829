import JSON
import ParseModel
import TestSupport
import Testing

/// Fields named like identifiers in the server's own SQL.
@Suite struct SecuritySQLNameTests {
    @Test("Fields and classes named like identifiers in the generated SQL behave like any others")
    func identifiers() async throws {
        let statements = StatementLog()
        let plain = try await TestServer.run(inPlaceOf: StatementLog.layout, logger: statements.logger) { server in
            try await Self.operate(on: "Song", ["title"], server)
        }
        let names = Self.identifiers(in: statements.take())
        #expect(names.count > 100, "\(names)")
        for name in ["objectId", "title", "unnest", "relatedId", "jsonb_agg"] where name != "objectId" {
            #expect(names.contains(name), "\(name) is in no statement")
        }
        // A table has room for about 500 fields.
        for start in stride(from: 0, to: names.count, by: 400) {
            let some = Array(names[start..<min(start + 400, names.count)])
            try await TestServer.run(["maxClientFields": 1000]) { server in
                let shadowed = try await Self.operate(on: "Song", some, server)
                #expect(shadowed == plain)
                // Classes can have such names, too.
                for name in ["unnest", "jsonb_agg", "excluded", "value"] where some.contains(name) {
                    #expect(try await Self.operate(on: name, ["title"], server) == plain, "\(name)")
                }
            }
        }
    }

    private static func identifiers(in statements: [String]) -> [String] {
        var names: Set<Name> = []
        for statement in statements {
            for word in statement.utf8.split(whereSeparator: { !isPartOfName($0) }) {
                guard let first = word.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
                    first != UInt8(ascii: "_"),
                    word.count <= 40
                else { continue }
                names.insert(Name(String(Substring(word))))
            }
        }
        let refused: Set<Name> = [
            "objectId", "createdAt", "updatedAt", "ACL", "id", "className", "ctid", "xmin", "xmax", "cmin", "cmax",
            "tableoid",
        ]
        // Statements also contain ids and tokens.
        return names.subtracting(refused).map(\.text).filter {
            $0.count != 10 && $0.count != 32 && Names.isFieldName($0, in: "Song")
        }.sorted()
    }

    private static func isPartOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func operate(on className: String, _ names: [String], _ server: TestServer) async throws -> [String]
    {
        var statuses: [String] = []
        @discardableResult
        func send(
            _ step: String, _ method: String, _ path: String, _ body: JSONValue? = nil,
            as identity: TestServer.Identity = .anonymous
        ) async throws -> TestAnswer {
            let answer = try await server.send(method, path, body, as: identity)
            statuses.append("\(step): \(answer.status)")
            #expect(answer.status < 300, "\(className), \(step): \(answer.text.prefix(300))")
            return answer
        }
        let path = "/classes/\(className)"
        var fields: JSONObject = [
            "list": [1, ["a": 1]], "map": ["a": ["b": 1]],
            "spot": ["__type": "GeoPoint", "latitude": 1, "longitude": 2],
            "day": ["__type": "Date", "iso": "2020-01-01T00:00:00.000Z"], "words": "quick fox",
        ]
        for name in names where fields[name] == nil && name != "friend" && name != "members" { fields[name] = 1 }
        let first = try await send("create", "POST", path, .object(fields))["objectId"]?.stringValue ?? ""
        fields["friend"] = .pointer(className, first)
        let second =
            try await send("create with a pointer", "POST", path, .object(fields))["objectId"]?.stringValue ?? ""
        for operation in ["AddRelation", "RemoveRelation", "AddRelation"] {
            let change: JSONValue = ["members": .operation(operation, [.pointer(className, first)])]
            try await send(operation, "PUT", "\(path)/\(second)", change)
        }
        try await send("dotted update", "PUT", "\(path)/\(second)", ["map.a.b": 2, "map.c": .increment(1)])
        for operation in ["Add", "AddUnique", "Remove"] {
            try await send(operation, "PUT", "\(path)/\(second)", ["list": .operation(operation, [1, 2])])
        }
        try await send("get", "GET", "\(path)/\(second)?include=friend")
        let conditions: [(String, JSONValue)] = [
            ("plain", ["words": "quick fox"]), ("array", ["list": 1]), ("all", ["list": ["$all": [1]]]),
            ("dotted", ["map.a.b": 2]),
            ("near", ["spot": ["$nearSphere": ["__type": "GeoPoint", "latitude": 1, "longitude": 2]]]),
            ("text", ["words": ["$text": ["$search": ["$term": "fox"]]]]), ("pattern", ["words": ["$regex": "^qui"]]),
            ("or", ["$or": [["words": "x"], ["day": ["$exists": true]]]]),
            ("related", ["$relatedTo": ["object": .pointer(className, second), "key": "members"]]),
            ("inner", ["friend": ["$inQuery": ["where": ["words": "quick fox"], "className": .string(className)]]]),
            (
                "select",
                ["words": ["$select": ["query": ["where": [:], "className": .string(className)], "key": "words"]]]
            ),
        ]
        for (name, condition) in conditions {
            let body: JSONValue = ["_method": "GET", "where": condition, "order": "-createdAt", "limit": 10]
            let found = try await send("find \(name)", "POST", path, body)
            statuses.append("found \(found.results.count)")
            try await send(
                "count \(name)", "POST", path, ["_method": "GET", "where": condition, "count": 1, "limit": 0])
        }
        let include: JSONValue = ["_method": "GET", "include": "friend", "keys": "friend.words,list"]
        try await send("include", "POST", path, include)
        for field in ["words", "list", "friend"] + names.prefix(30) {
            let group: JSONValue = ["$group": ["_id": .string("$" + field), "total": ["$sum": 1]]]
            let pipeline: JSONValue = ["_method": "GET", "pipeline": [["$match": ["words": "quick fox"]], group]]
            let answer = try await server.send("POST", "/aggregate/\(className)", pipeline, as: .master)
            #expect(answer.status == 200, "\(className), group by \(field): \(answer.text.prefix(300))")
        }
        try await send("distinct", "GET", "/aggregate/\(className)?distinct=words", as: .master)
        let role: JSONValue = ["name": .string("role of \(className)"), "ACL": [:]]
        let roleId = try await send("role", "POST", "/roles", role, as: .master)["objectId"]?.stringValue ?? ""
        let user = try await server.send("POST", "/users", ["username": .string(className), "password": "secret"])
        let member: JSONValue = .pointer("_User", user["objectId"]?.stringValue ?? "")
        try await send("member", "PUT", "/roles/\(roleId)", ["users": .operation("AddRelation", [member])], as: .master)
        let row: JSONValue = ["objectId": .string(first), "words": "lazy dog", "createdAt": "2020-01-01T00:00:00.000Z"]
        try await send("import", "POST", "/import_data/\(className)", ["results": [row]], as: .master)
        let access: JSONValue = ["ACL": ["*": ["read": true]]]
        try await send("ACL", "PUT", "\(path)/\(second)", access, as: .master)
        let batch: JSONValue = [
            "requests": [["method": "PUT", "path": .string("/parse\(path)/\(first)"), "body": ["words": "brown"]]],
            "transaction": true,
        ]
        try await send("transaction", "POST", "/batch", batch)
        try await send("delete", "DELETE", "\(path)/\(second)", as: .master)
        try await send("purge", "DELETE", "/purge/\(className)", as: .master)
        return statuses
    }
}
