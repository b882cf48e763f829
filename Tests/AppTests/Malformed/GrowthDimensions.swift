import JSON
import TestSupport

extension GrowthDimension {
    static let all = queries + writes + aggregations + wholes + classes + roles

    private static let queries: [GrowthDimension] = [
        .find("include", 250) { ["include": names($0) { "a\($0).b" }] },
        .find("steps of include", 8) { ["include": .string(Array(repeating: "p", count: $0).joined(separator: "."))] },
        .find("keys", 1_000) { ["keys": names($0) { "a\($0 % 900).b\($0)" }] },
        .find("excludeKeys", 1_000) { ["excludeKeys": names($0) { "a\($0 % 900).b\($0)" }] },
        .find("order", 25) { ["order": names($0) { "o.k\($0)" }] },
        .find("$or", 800) { ["where": ["$or": list($0) { ["n": number($0)] }]] },
        .find("$nor of objects", 400) { ["where": ["$nor": list($0) { ["n": ["$gt": number($0)], "s": "x"] }]] },
        .find("$and of dotted keys", 100) { ["where": ["$and": list($0) { ["o.k\($0)": ["$ne": 1]] }]] },
        .find("nesting of $or", 24) { depth in
            let condition = (0..<depth).reduce(JSONValue.object(["n": 1])) { ["$or": [$0, ["n": number($1)]]] }
            return ["where": condition]
        },
        .find("nesting of inner queries", 16) { depth in
            let condition = (0..<depth).reduce(JSONValue.object(["n": 1])) { condition, _ in
                ["p": ["$inQuery": ["className": "Many", "where": condition]]]
            }
            return ["where": condition]
        },
        .find("inner queries", 24) { count in
            ["where": ["$or": list(count) { ["p": ["$inQuery": ["className": "Many", "where": ["n": number($0)]]]] }]]
        },
        .find("$in of a column", 8_000) { ["where": ["n": ["$in": list($0, number)]]] },
        .find("$nin of an array", 3_000) { ["where": ["list": ["$nin": list($0, number)]]] },
        .find("$containedBy", 3_000) { ["where": ["list": ["$containedBy": list($0, number)]]] },
        .find("$all", 240) { ["where": ["list": ["$all": list($0, number)]]] },
        .find("a long text", 200_000) { ["where": ["s": .string(text($0))]] },
        // PostgreSQL takes quadratic time to compile a pattern of few different characters: 40 ms for the longest.
        .find("a long pattern", 1_000) { count in
            let letters = (0..<count).map { Character(Unicode.Scalar(97 + UInt8(($0 + $0 / 26) % 26))) }
            return ["where": ["s": ["$regex": .string(String(letters)), "$options": "i"]]]
        },
        .find("a search of many words", 1_000) { count in
            let words = (0..<count).map { "word\($0)" }.joined(separator: " ")
            return ["where": ["s": ["$text": ["$search": ["$term": .string(words)]]]]]
        },
        .find("objects", 250, of: "Many") { ["limit": number($0)] },
        .find("objects with an include", 250, of: "Many") { ["limit": number($0), "include": "p"] },
        .find("objects with includes of includes", 100, of: "Many") { ["limit": number($0), "include": "p.p.p,q.q"] },
    ]

    private static let writes: [GrowthDimension] = [
        .update("members of an object", 5_000) { ["o": .object(object($0, { "k\($0)" }, number))] },
        .update("elements of an array", 10_000) { ["list": list($0, number)] },
        .update("a text", 100_000) { ["s": .string(text($0))] },
        .update("dotted keys", 125) { object($0, { "o.k\($0)" }, number) },
        .update("elements that AddUnique compares", 1_500) {
            ["unique": ["__op": "AddUnique", "objects": list($0, number)]]
        },
        .update("principals", 1_000) { count in
            var access = object(count, { "user\($0)" }, { _ in ["read": true, "write": true] })
            access["*"] = ["read": true, "write": true]
            return ["ACL": .object(access)]
        },
        .update("objects of a relation", 1_500) { count in
            let pointers = (0..<count).map { JSONValue.pointer("Node", "id\($0)") }
            return [
                "related": [
                    "__op": "Batch",
                    "ops": [.operation("AddRelation", pointers), .operation("RemoveRelation", pointers)],
                ]
            ]
        },
        .update("corners of a polygon", 2_500) { count in
            let corners = list(count) { [.number(Double($0 % 90)), .number(Double($0 % 170))] }
            return ["area": ["__type": "Polygon", "coordinates": corners]]
        },
        .update("nesting", 40) { ["deep": (0..<$0).reduce(JSONValue.number(1)) { value, _ in ["a": value] }] },
    ]

    private static let aggregations: [GrowthDimension] = [
        .aggregate("stages", 24) { list($0) { [$0 == 0 ? "$limit" : "$skip": number($0 == 0 ? 5 : 0)] } },
        .aggregate("fields of $project", 75) { count in
            [["$project": .object(object(count, { "f\($0)" }, { ["$add": ["$n", number($0)]] }))], ["$limit": 1]]
        },
        .aggregate("fields of $group", 75) { count in
            var group = object(count, { "f\($0)" }, { _ in ["$sum": "$n"] })
            group["_id"] = "$r"
            return [["$group": .object(group)]]
        },
        .aggregate("conditions of $match", 250) {
            [["$match": ["$or": list($0) { ["n": number($0)] }]], ["$limit": 1]]
        },
        .aggregate("objects", 250) { [["$limit": number($0)]] },
    ]

    private static let wholes: [GrowthDimension] = [
        GrowthDimension("calls of a batch", 50) { count, _ in
            let calls = list(count) { _ in ["method": "GET", "path": .string("/parse/classes/Many/m1")] }
            return GrowthRequest("POST", "/batch", ["requests": calls])
        },
        GrowthDimension("changes of a transaction", 40) { count, _ in
            let calls = list(count) { index in
                ["method": "POST", "path": "/parse/classes/Made", "body": ["n": number(index)]]
            }
            return GrowthRequest("POST", "/batch", ["requests": calls, "transaction": true])
        },
        GrowthDimension("header fields", 55) { count, _ in
            var fields: [String: String] = [:]
            for index in 0..<count { fields["X-Field-\(index)"] = "\(index)" }
            return GrowthRequest(get: "/classes/Many/m1", headers: fields)
        },
        GrowthDimension("a query string", 200) { count, _ in
            let pairs = (0..<count).map { "where[s][$in][]=x\($0)" }.joined(separator: "&")
            return GrowthRequest(get: "/classes/Node?" + pairs.replacing("[", with: "%5B").replacing("]", with: "%5D"))
        },
        GrowthDimension("a where in a query string", 7_000) { count, _ in
            GrowthRequest(get: "/classes/Node?where=%7B%22s%22:%22\(text(count))%22%7D")
        },
        GrowthDimension("parts of a form", 7) { count, _ in
            GrowthRequest(form: "/import_data/Made", files: (0..<count).map { $0 == 0 ? "[]" : text(60_000) })
        },
        GrowthDimension("rows of an import", 100) { count, _ in
            let rows = list(count) { ["objectId": .string("id\($0)"), "n": number($0)] }
            return GrowthRequest("POST", "/import_data/Made", ["rows": rows])
        },
    ]

    /// Classes are last, because cached class data grows with them.
    private static let classes: [GrowthDimension] = [
        GrowthDimension("fields of an import", 60) { count, place in
            let rows = list(5) { row in .object(object(count, { "f\($0)" }, { number($0 + row) })) }
            return GrowthRequest("POST", "/import_data/\(place.name)", ["rows": rows])
        },
        GrowthDimension("fields of a new object", 80) { count, place in
            GrowthRequest("POST", "/classes/\(place.name)", .object(object(count, { "f\($0)" }, number)))
        },
        GrowthDimension("fields that PUT /schemas adds", 80) { count, place in
            _ = try await place.server.create(place.name, ["n": 1], as: .master)
            let fields = object(count, { "f\($0)" }, { _ in ["type": "String"] })
            return GrowthRequest("PUT", "/schemas/\(place.name)", ["fields": .object(fields)])
        },
        GrowthDimension("indexes of PUT /schemas", 10) { count, place in
            let fields = object(count, { "f\($0)" }, { _ in ["type": "String"] })
            _ = try await place.server.send(
                "POST", "/schemas/\(place.name)", ["fields": .object(fields)], as: .master
            ).succeeded()
            let indexes = object(count, { "i\($0)" }, { .object([.init("f\($0)"): 1]) })
            return GrowthRequest("PUT", "/schemas/\(place.name)", ["indexes": .object(indexes)])
        },
    ]

    private static let roles: [GrowthDimension] = [
        GrowthDimension("depth of roles", 40) { try await roles($0, $1) { $0 - 1 } },
        GrowthDimension("roles beside each other", 100) { try await roles($0, $1) { _ in 0 } },
    ]

    /// A find of a user in the first of many new roles.
    ///
    /// - Parameter child: Returns the index of the role that inherits from a role.
    private static func roles(_ count: Int, _ place: Place, child: @Sendable (Int) -> Int) async throws -> GrowthRequest
    {
        let user = try await place.server.signUp(place.name)
        let calls = list(count) { index in
            var role: JSONObject = [
                "objectId": .string("\(place.name)r\(index)"), "name": .string("\(place.name)r\(index)"), "ACL": [:],
            ]
            if index == 0 { role["users"] = .operation("AddRelation", [.pointer("_User", user.id)]) }
            if index > 0 {
                role["roles"] = .operation("AddRelation", [.pointer("_Role", "\(place.name)r\(child(index))")])
            }
            return ["method": "POST", "path": "/parse/classes/_Role", "body": .object(role)]
        }
        let made = try await place.server.send("POST", "/batch", ["requests": calls], as: .master).succeeded()
        guard made.json.arrayValue?.allSatisfy({ $0["success"] != nil }) == true else {
            throw CrashServer.Failure(description: "roles are not made: \(made.text.prefix(300))")
        }
        return GrowthRequest(get: "/classes/Many?limit=1", as: .session(user.token))
    }
}
