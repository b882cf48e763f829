import JSON
import TestSupport
import TestTools
import Testing

@Suite("Permissions in the console")
struct ConsolePermissionTests {
    private static let operations = ["find", "count", "get", "update", "addField", "create", "delete"]

    /// A user or an anonymous client, with the names that permissions can contain.
    private struct Person {
        let id: String?
        let identity: TestServer.Identity
        let principals: Set<String>
    }

    /// The permissions of a class, and the users and the ACL of an object.
    private struct Combination {
        let permissions: JSONObject
        let host: String?
        let guests: [String]
        let acl: JSONValue?

        /// - Parameter users: The ids of two users. The first has the role Editor.
        init(_ users: [String], _ random: inout SplitMix64) {
            let entries: [JSONValue] = [
                ["*": true], ["*": true], [:], ["requiresAuthentication": true],
                ["requiresAuthentication": true, "role:Editor": true], ["role:Editor": true],
                .object([Name(users[1]): true]), .object([Name(users[0]): true, "role:Editor": true]),
                ["pointerFields": ["host"]], ["pointerFields": ["host"]], ["pointerFields": ["host", "guests"]],
                ["requiresAuthentication": true, "pointerFields": ["guests"]],
                ["role:Editor": true, "pointerFields": ["host"]],
                ["requiresAuthentication": true, "role:Editor": true, "pointerFields": ["host"]],
                ["*": true, "requiresAuthentication": true, "pointerFields": ["host"]],
            ]
            var permissions: JSONObject = [:]
            for operation in ConsolePermissionTests.operations {
                // Pointer fields have no meaning for objects that don't exist yet.
                let possible = operation == "create" ? Array(entries.prefix(8)) : entries
                permissions[Name(operation)] = possible.randomElement(using: &random)
            }
            for key: Name in ["readUserFields", "writeUserFields"] where Int.random(in: 0..<5, using: &random) == 0 {
                permissions[key] = ["guests"]
            }
            let both: JSONValue = ["read": true, "write": true]
            let acls: [JSONValue?] = [
                nil, nil, [:], ["*": ["read": true]], ["*": both], ["role:Editor": both],
                .object(["*": ["read": true], Name(users[1]): both]), .object([Name(users[0]): ["read": true]]),
            ]
            self.permissions = permissions
            acl = acls.randomElement(using: &random) ?? nil
            let hosts: [String?] = [nil, users[0], users[1]]
            host = hosts.randomElement(using: &random) ?? nil
            guests = users.filter { _ in Bool.random(using: &random) }
        }

        func object(title: String) -> JSONObject {
            var object: JSONObject = ["title": .string(title)]
            if let host { object["host"] = .pointer("_User", host) }
            object["guests"] = .array(guests.map { .pointer("_User", $0) })
            if let acl { object["ACL"] = acl }
            return object
        }

        func lets(_ person: Person, _ allows: [JSONValue]) -> Bool {
            allows.compactMap(\.stringValue).contains { name in
                guard let field = name.firstMatch(of: /^userField:(.*)$/)?.1 else {
                    return person.principals.contains(name)
                }
                guard let id = person.id else { return false }
                return field == "host" ? host == id : guests.contains(id)
            }
        }
    }

    private static func outcomes(
        _ server: TestServer, _ className: String, _ object: (id: String, title: String), _ person: Person,
        _ field: Name
    ) async throws -> [String: Bool] {
        let (classPath, place) = ("/classes/\(className)", "/classes/\(className)/\(object.id)")
        let condition = "where={\"title\":\"\(object.title)\"}"
        func send(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> TestAnswer {
            let answer = try await server.send(method, path, body, as: person.identity)
            #expect(answer.status < 500, "\(answer.text)")
            return answer
        }
        return [
            "find": try await send("GET", "\(classPath)?\(condition)").results.count == 1,
            "count": try await send("GET", "\(classPath)?\(condition)&count=1&limit=0")["count"] == 1,
            "get": try await send("GET", place).status == 200,
            "update": try await send("PUT", place, ["n": 1]).status == 200,
            "addField": try await send("PUT", place, .object([field: 1])).status == 200,
            "create": try await send("POST", classPath, ["title": "made"]).status == 201,
            "delete": try await send("DELETE", place).status == 200,
        ]
    }

    @Test("Access checks of 40 generated permissions agree with actual requests and name who is allowed")
    func generated() async throws {
        try await TestServer.run { server in
            let (kim, kims) = try await server.signUp("kim")
            let (lou, lous) = try await server.signUp("lou")
            let members: JSONValue = ["__op": "AddRelation", "objects": [.pointer("_User", kim)]]
            let role = try await server.send(
                "POST", "/roles", ["name": "Editor", "ACL": [:], "users": members], as: .master)
            #expect(role.status == 201, "\(role.text)")
            let people = [
                Person(id: nil, identity: .anonymous, principals: ["*"]),
                Person(id: kim, identity: .session(kims), principals: ["*", "authenticated", kim, "role:Editor"]),
                Person(id: lou, identity: .session(lous), principals: ["*", "authenticated", lou]),
            ]
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            var random = SplitMix64(seed: 56)
            for number in 0..<40 {
                let combination = Combination([kim, lou], &random)
                let className = "Ruled\(number)"
                let schema: JSONValue = [
                    "fields": [
                        "title": ["type": "String"], "n": ["type": "Number"], "guests": ["type": "Array"],
                        "host": ["type": "Pointer", "targetClass": "_User"],
                    ], "classLevelPermissions": .object(combination.permissions),
                ]
                let made = try await server.send("POST", "/schemas/\(className)", schema, as: .master)
                #expect(made.status == 200, "\(made.text)")
                var answers: [[String: JSONValue]] = []
                var gotten: [[String: Bool]] = []
                for (place, person) in people.enumerated() {
                    let title = "object\(place)"
                    let id = try await server.create(className, combination.object(title: title), as: .master)
                    var question: JSONObject = [
                        "className": .string(className), "user": person.id.map { .string($0) } ?? .null,
                    ]
                    let ofClass = try await viewer.send("POST", "/console/api/may", .object(question))
                    question["objectId"] = .string(id)
                    let answer = try await viewer.send("POST", "/console/api/may", .object(question))
                    try #require(answer.status == 200 && ofClass.status == 200, "\(answer.text)")
                    let gets = try await Self.outcomes(
                        server, className, (id, title), person, Name("added\(number)by\(place)"))
                    var told: [String: JSONValue] = [:]
                    for operation in Self.operations {
                        let words = "\(className) \(operation) by \(place): \(answer.text), \(combination)"
                        let found = try #require(answer["operations"]?[operation])
                        told[operation] = found
                        #expect(found["allowed"]?.boolValue == gets[operation], "\(words)")
                        let reasons = (found["because"]?.arrayValue ?? []).filter { $0["rule"] != "protected" }
                        #expect(!reasons.isEmpty, "\(words)")
                        for reason in reasons {
                            // Allowed operations have only rules that grant access, and denied ones only rules that
                            // deny it.
                            #expect((reason["who"] != nil) == gets[operation], "\(words)")
                        }
                        let general = try #require(ofClass["operations"]?[operation])
                        if gets[operation] == true { #expect(general["allowed"] == true, "\(words) \(general)") }
                    }
                    answers.append(told)
                    gotten.append(gets)
                }
                for (asked, told) in answers.enumerated() {
                    for operation in Self.operations where gotten[asked][operation] == false {
                        let refusals = (told[operation]?["because"]?.arrayValue ?? []).filter {
                            $0["rule"] != "pointer"
                        }
                        for (place, person) in people.enumerated() {
                            let isLetIn = refusals.allSatisfy {
                                combination.lets(person, $0["allows"]?.arrayValue ?? [])
                            }
                            let words =
                                "\(className) \(operation) refused to \(asked), asked for \(place): \(refusals) \(combination)"
                            if gotten[place][operation] == true { #expect(isLetIn, "\(words)") }
                            if refusals.count == 2, isLetIn, operation != "addField" {
                                #expect(gotten[place][operation] == true, "\(words)")
                            }
                        }
                    }
                }
            }
        }
    }

    @Test("Reports operations limited by pointer permissions as allowed for some objects")
    func limited() async throws {
        try await TestServer.run { server in
            let (kim, token) = try await server.signUp("kim")
            let (lou, _) = try await server.signUp("lou")
            let schema: JSONValue = [
                "fields": ["host": ["type": "Pointer", "targetClass": "_User"]],
                "classLevelPermissions": ["find": ["pointerFields": ["host"]], "get": ["*": true]],
            ]
            #expect(try await server.send("POST", "/schemas/Party", schema, as: .master).status == 200)
            let party = try await server.create("Party", ["host": .pointer("_User", lou)], as: .master)
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let ofClass = try await viewer.send(
                "POST", "/console/api/may", ["user": .string(kim), "className": "Party"])
            let find = try #require(ofClass["operations"]?["find"])
            #expect(find["allowed"] == true && find["limited"] == true)
            #expect(find["because"] == [["rule": "pointer", "who": .string(kim), "field": "host"]])
            #expect(try await server.send("GET", "/classes/Party", as: .session(token)).results.isEmpty)
            let ofObject = try await viewer.send(
                "POST", "/console/api/may", ["user": .string(kim), "className": "Party", "objectId": .string(party)])
            let refusal: JSONValue = [
                ["rule": "pointer", "field": "host"], ["rule": "class", "allows": ["userField:host"]],
            ]
            #expect(ofObject["operations"]?["find"]?["because"] == refusal)
            let anonymous = try await viewer.send("POST", "/console/api/may", ["user": .null, "className": "Party"])
            #expect(anonymous["operations"]?["find"]?["allowed"] == false)
            #expect(anonymous["operations"]?["find"]?["because"] == [["rule": "class", "allows": ["userField:host"]]])
            _ = try await server.create("Party", ["host": .pointer("_User", kim)], as: .master)
            #expect(try await server.send("GET", "/classes/Party", as: .session(token)).results.count == 1)
        }
    }
}
