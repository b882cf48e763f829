import JSON
import TestSupport
import Testing

/// Every operation on a class, by every kind of caller that a permission can name.
@Suite struct ClassPermissionMatrixTests {
    private enum Outcome: String {
        case done
        /// Error 119.
        case forbidden
        /// Error 101 before an object is read.
        case unauthenticated
        /// The caller can't see the object: no result, or error 101.
        case hidden
    }

    private static let operations = ["find", "count", "get", "create", "update", "delete", "addField"]

    /// The columns of the tables: no session, the user in the object's pointer, a member of the role `Staff`, a user in
    /// the object's list, and another user.
    private static let callers = ["nobody", "owner", "member", "listed", "other"]

    /// A permission, and its outcome for each caller.
    private struct Grant {
        let name: String
        let entry: JSONObject
        var extra: JSONObject = [:]
        var operations = ClassPermissionMatrixTests.operations
        let outcomes: [Outcome]
    }

    private static func grants(owner: String) -> [Grant] {
        let rows: [Outcome] = [.hidden, .done, .hidden, .hidden, .hidden]
        let listed: [Outcome] = [.hidden, .hidden, .hidden, .done, .hidden]
        let nobody = [Outcome](repeating: .forbidden, count: 5)
        let reading = ["find", "count", "get"]
        let changing = ["update", "delete", "addField"]
        return [
            Grant(name: "nobody", entry: [:], outcomes: nobody),
            Grant(name: "everybody", entry: ["*": true], outcomes: Array(repeating: .done, count: 5)),
            Grant(
                name: "a user", entry: [Name(owner): true],
                outcomes: [.forbidden, .done, .forbidden, .forbidden, .forbidden]),
            Grant(
                name: "a role", entry: ["role:Staff": true],
                outcomes: [.forbidden, .forbidden, .done, .forbidden, .forbidden]),
            Grant(
                name: "a role that does not exist", entry: ["role:Nosuch": true], outcomes: nobody),
            Grant(
                name: "all users", entry: ["requiresAuthentication": true],
                outcomes: [.unauthenticated, .done, .done, .done, .done]),
            Grant(
                name: "the pointer's user", entry: ["pointerFields": ["owner"]], operations: reading + changing,
                outcomes: rows),
            Grant(
                name: "the list's users", entry: ["pointerFields": ["list"]], operations: reading + changing,
                outcomes: listed),
            Grant(
                name: "the pointer's and the list's users", entry: ["pointerFields": ["owner", "list"]],
                operations: reading + changing, outcomes: [.hidden, .done, .hidden, .done, .hidden]),
            Grant(
                name: "the pointer's user, on creation", entry: ["pointerFields": ["owner"]], operations: ["create"],
                outcomes: nobody),
            Grant(
                name: "an empty list of pointers", entry: ["pointerFields": []], outcomes: nobody),
            Grant(
                name: "the pointer's user and a role", entry: ["pointerFields": ["owner"], "role:Staff": true],
                operations: reading + changing, outcomes: [.hidden, .done, .done, .hidden, .hidden]),
            Grant(
                name: "the pointer's user, with requiresAuthentication",
                entry: ["pointerFields": ["owner"], "requiresAuthentication": true],
                operations: reading + changing, outcomes: [.unauthenticated, .done, .hidden, .hidden, .hidden]),
            Grant(
                name: "readUserFields", entry: [:], extra: ["readUserFields": ["owner"]], operations: reading,
                outcomes: rows),
            Grant(
                name: "readUserFields, other operations", entry: [:], extra: ["readUserFields": ["owner"]],
                operations: changing + ["create"], outcomes: nobody),
            Grant(
                name: "writeUserFields", entry: [:], extra: ["writeUserFields": ["list"]], operations: changing,
                outcomes: listed),
            Grant(
                name: "writeUserFields, other operations", entry: [:], extra: ["writeUserFields": ["list"]],
                operations: reading + ["create"], outcomes: nobody),
        ]
    }

    private struct Setting {
        let server: TestServer
        var identities: [TestServer.Identity] = [.anonymous]
        var ids: [String] = [""]

        init(_ server: TestServer) async throws {
            self.server = server
            for name in ClassPermissionMatrixTests.callers.dropFirst() {
                let user = try await server.signUp(name)
                identities.append(.session(user.token))
                ids.append(user.id)
            }
            _ = try await server.create(
                "_Role",
                [
                    "name": "Staff", "ACL": [:],
                    "users": .operation("AddRelation", [.pointer("_User", ids[2])]),
                ], as: .master)
            let fields: JSONObject = [
                "text": ["type": "String"], "owner": ["type": "Pointer", "targetClass": "_User"],
                "list": ["type": "Array"],
            ]
            _ = try await server.send("POST", "/schemas/Note", ["fields": .object(fields)], as: .master).succeeded()
        }

        func permit(_ operation: String, _ grant: Grant) async throws {
            var permissions = grant.extra
            for name in ClassPermissionMatrixTests.operations { permissions[name] = ["*": true] }
            permissions[operation] = .object(grant.entry)
            _ = try await server.send(
                "PUT", "/schemas/Note", ["classLevelPermissions": .object(permissions)], as: .master
            ).succeeded()
        }

        func makeNote() async throws -> String {
            try await server.create(
                "Note",
                [
                    "text": "x", "owner": .pointer("_User", ids[1]),
                    "list": .array([.pointer("_User", ids[3]), "no user", 1]),
                ], as: .master)
        }

        func attempt(_ operation: String, _ caller: Int, newField: String) async throws -> (Outcome?, TestAnswer) {
            let id = try await makeNote()
            let path = "/classes/Note/\(id)"
            let identity = identities[caller]
            let answer: TestAnswer
            var isFound = true
            switch operation {
            case "find":
                answer = try await server.find("Note", ["where": ["text": "x"]], as: identity)
                isFound = !answer.results.isEmpty
            case "count":
                answer = try await server.find("Note", ["count": 1, "limit": 0], as: identity)
                isFound = answer["count"] != 0
            case "get": answer = try await server.send("GET", path, as: identity)
            case "create": answer = try await server.send("POST", "/classes/Note", ["text": "y"], as: identity)
            case "update": answer = try await server.send("PUT", path, ["text": "y"], as: identity)
            case "delete": answer = try await server.send("DELETE", path, as: identity)
            default:
                let field = newField + "\(caller)"
                answer = try await server.send("PUT", path, .object([Name(field): 1]), as: identity)
            }
            let isObject = !["find", "count", "create"].contains(operation)
            switch (answer.status, answer.code) {
            case (200, nil), (201, nil): return (isFound ? .done : .hidden, answer)
            case (400, 119): return (.forbidden, answer)
            case (404, 101) where answer.error == "Object not found." && isObject: return (.hidden, answer)
            case (404, 101): return (.unauthenticated, answer)
            default: return (nil, answer)
            }
        }
    }

    @Test("Grants each operation exactly to the callers its permission entry names", arguments: operations)
    func matrix(operation: String) async throws {
        try await TestServer.run { server in
            let setting = try await Setting(server)
            for (number, grant) in Self.grants(owner: setting.ids[1]).enumerated()
            where grant.operations.contains(operation) {
                try await setting.permit(operation, grant)
                for (caller, expected) in grant.outcomes.enumerated() {
                    let (outcome, answer) = try await setting.attempt(operation, caller, newField: "new\(number)at")
                    #expect(
                        outcome == expected, "\(operation) by \(Self.callers[caller]) for \(grant.name): \(answer.text)"
                    )
                }
                let open: [TestServer.Identity] = [.master, .maintenance]
                for identity in open {
                    #expect(try await server.send("GET", "/classes/Note", as: identity).status == 200)
                    #expect(
                        try await server.send("POST", "/classes/Note", ["text": "m"], as: identity).status == 201)
                }
            }
        }
    }

    @Test("A denied create or update leaves no object, change or field behind")
    func nothingIsLeft() async throws {
        try await TestServer.run { server in
            let setting = try await Setting(server)
            for operation in ["create", "update", "addField"] {
                try await setting.permit(operation, Grant(name: "nobody", entry: [:], outcomes: []))
                let id = try await setting.makeNote()
                let calls: [(String, String)] = [("POST", "/classes/Note"), ("PUT", "/classes/Note/\(id)")]
                for (method, path) in calls {
                    if operation == "create", method == "PUT" { continue }
                    if operation == "update", method == "POST" { continue }
                    let body: JSONValue = ["text": "changed", "fresh": 1, "at.once": 2]
                    SecurityProbe.expectRefused(
                        try await server.send(method, path, body), 119, "\(operation) \(method)")
                }
                let schema = try await server.send("GET", "/schemas/Note", as: .master).succeeded()
                #expect(schema["fields"]?["fresh"] == nil, "\(operation)")
                #expect(schema["fields"]?["at"] == nil, "\(operation)")
                let changed = try await server.find("Note", ["where": ["text": "changed"]], as: .master)
                #expect(changed.results.isEmpty, "\(operation)")
            }
        }
    }
}
