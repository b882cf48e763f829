import Console
import HTTP
import JSON
import ParseModel
import TestSupport
import Testing

/// The console's explanation of a user's permissions, compared with the API's behavior.
@Suite struct AllowanceTests {
    private static func texts(_ reasons: [PermissionReason]) -> [String] {
        reasons.map { reason in
            [reason.rule.rawValue, reason.who?.text, reason.field?.text].compactMap { $0 }.joined(separator: " ")
        }
    }

    @Test("Explains which rules allow or deny each operation, and agrees with the API")
    func reasons() async throws {
        try await ConsoleRoutes.run { routes in
            let (kim, _) = try await routes.create("/users", ["username": "kim", "password": "secret"])
            let (lou, _) = try await routes.create("/users", ["username": "lou", "password": "secret"])
            let permissions: JSONObject = [
                "find": ["requiresAuthentication": true], "get": ["*": true], "count": [:],
                "create": ["role:Editor": true], "update": ["pointerFields": ["by"]], "delete": ["*": true],
                "addField": [:], "protectedFields": ["*": ["secret"]],
            ]
            let schema: JSONObject = [
                "fields": [
                    "by": ["type": "Pointer", "targetClass": "_User"], "secret": ["type": "String"],
                    "title": ["type": "String"],
                ], "classLevelPermissions": .object(permissions),
            ]
            #expect(try await routes.send(.post, "/schemas/Song", schema).status == 200)
            let acl: JSONValue = .object(["*": ["read": true], Name(kim): ["read": true, "write": true]])
            let (song, _) = try await routes.create(
                "/classes/Song", ["title": "x", "secret": "y", "by": .pointer("_User", kim), "ACL": acl])
            func allowances(_ user: String?) async throws -> [ClassOperation: Allowances.Allowance] {
                let list = try await routes.backend.allowances.allowances(of: user, "Song", song)
                return Dictionary(uniqueKeysWithValues: list.map { ($0.operation, $0) })
            }
            let own = try await allowances(kim)
            #expect(own[.find]?.isAllowed == true)
            #expect(
                Self.texts(own[.find]?.reasons ?? []) == [
                    "class authenticated", "acl *", "acl \(kim)", "protected secret",
                ])
            #expect(own[.count]?.isAllowed == false && Self.texts(own[.count]?.reasons ?? []) == ["class"])
            #expect(own[.create]?.isAllowed == false)
            #expect(own[.update]?.isAllowed == true)
            #expect(Self.texts(own[.update]?.reasons ?? []) == ["pointer \(kim) by", "acl \(kim)"])
            #expect(own[.delete]?.isAllowed == true)
            let others = try await allowances(lou)
            #expect(others[.update]?.isAllowed == false)
            #expect(Self.texts(others[.update]?.reasons ?? []) == ["pointer by", "class", "acl"])
            #expect(others[.update]?.reasons.last?.allows == [Name(kim)])
            #expect(others[.delete]?.isAllowed == false && Self.texts(others[.delete]?.reasons ?? []) == ["acl"])
            let anonymous = try await allowances(nil)
            #expect(anonymous[.find]?.isAllowed == false && anonymous[.get]?.isAllowed == true)
            for (user, allowed) in [(kim, own), (lou, others)] {
                let name: JSONObject = ["username": user == kim ? "kim" : "lou", "password": "secret"]
                let token = try await routes.send(.post, "/login", name)["sessionToken"]?.stringValue
                let place = "/classes/Song/\(song)"
                let update = try await routes.send(.put, place, ["title": "z"], power: .client, token: token)
                #expect((update.status == 200) == allowed[.update]?.isAllowed, "\(update)")
                let get = try await routes.send(.get, place, power: .client, token: token)
                #expect((get.status == 200) == allowed[.get]?.isAllowed && get["secret"] == nil)
            }
        }
    }

    @Test("Agrees with the API on users, sessions and installations")
    func systemClasses() async throws {
        try await ConsoleRoutes.run { routes in
            var callers: [(id: String?, token: String?)] = [(nil, nil)]
            for name in ["lou", "kim"] {
                let made = try await routes.send(
                    .post, "/users", ["username": .string(name), "password": "secret"], power: .client)
                callers.append((made["objectId"]?.stringValue, made["sessionToken"]?.stringValue))
            }
            let (kim, token) = (try #require(callers[2].id), callers[2].token)
            let own = try await routes.send(.get, "/sessions/me", power: .client, token: token)
            let session = try #require(own["objectId"]?.stringValue)
            // Kim comes last, whose deletions succeed.
            for (user, token) in callers {
                let devices = try await routes.backend.allowances.allowances(of: user, "_Installation", nil)
                #expect(
                    devices.allSatisfy { $0.isAllowed == [.get, .create, .update, .addField].contains($0.operation) })
                for (className, path, id) in [
                    ("_Session", "/sessions/\(session)", session), ("_User", "/users/\(kim)", kim),
                ] {
                    let list = try await routes.backend.allowances.allowances(of: user, className, id)
                    let calls: [(ClassOperation, HTTP.Method, JSONObject)] = [
                        (.get, .get, [:]), (.update, .put, className == "_User" ? ["username": "kim"] : ["note": "x"]),
                        (.delete, .delete, [:]),
                    ]
                    for (operation, method, body) in calls where className == "_User" || operation != .delete {
                        let answer = try await routes.send(method, path, body, power: .client, token: token)
                        let isAllowed = list.first { $0.operation == operation }?.isAllowed
                        #expect((answer.status == 200) == isAllowed, "\(className) \(operation) \(answer)")
                    }
                }
            }
        }
    }
}
