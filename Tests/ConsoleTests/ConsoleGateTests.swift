import Console
import JSON
import ParseModel
import Testing

@Suite("Permissions of console roles")
struct ConsoleGateTests {
    private static let schema: @Sendable (String) -> ClassSchema? = { name in
        ["Song", "_User", "_Role", "_Installation", "_Session"].contains(name)
            ? ClassSchema(name: name, adding: "title") : nil
    }

    private static func refusal(
        _ role: ConsoleRole, _ method: String, _ path: String, reads: Bool, _ parameters: JSONObject = [:],
        _ fields: [Name] = []
    ) -> String? {
        ConsoleGate.refusal(
            of: ConsoleGate.Call(
                path: path.split(separator: "/").map { String($0) }, method: method, onlyReads: reads,
                parameters: parameters, fields: fields), for: role, schema: schema)
    }

    @Test(
        "Viewers can only read, and only with GET",
        arguments: [
            ("GET", "classes/Song", true, true), ("POST", "classes/Song", false, false), ("GET", "login", false, false),
            ("POST", "batch", true, false), ("POST", "functions/f", true, false),
            ("DELETE", "classes/Song/1", false, false),
        ])
    func viewer(method: String, path: String, reads: Bool, may: Bool) {
        #expect((Self.refusal(.viewer, method, path, reads: reads) == nil) == may)
    }

    @Test(
        "Editors can write objects and files, and nothing else",
        arguments: [
            ("POST", "classes/Song", true), ("PUT", "classes/Song/1", true), ("DELETE", "users/1", true),
            ("POST", "files/a.txt", true), ("POST", "classes/New", false), ("POST", "classes/_Hooks", false),
            ("PUT", "sessions/1", false), ("POST", "schemas/Song", false), ("DELETE", "purge/Song", false),
            ("PUT", "config", false), ("POST", "functions/f", false), ("POST", "jobs/j", false),
            ("POST", "push", false),
            ("POST", "hooks/functions", false), ("POST", "loginAs", false), ("POST", "import_data/Song", false),
            ("POST", "classes/_PushStatus", false), ("PUT", "graphql-config", false), ("POST", "", false),
        ])
    func editor(method: String, path: String, may: Bool) {
        #expect((Self.refusal(.editor, method, path, reads: false) == nil) == may)
    }

    @Test(
        "Only developers and owners can read logs, slow statements and webhooks",
        arguments: [
            "scriptlog", "slow_queries", "hooks/functions", "Hooks/triggers", "classes/_Hooks", "Classes/_Hooks/1",
            "aggregate/_Hooks",
        ])
    func developers(path: String) {
        for role in [ConsoleRole.viewer, .editor] {
            #expect(Self.refusal(role, "GET", path, reads: true) != nil)
        }
        for role in [ConsoleRole.developer, .owner] {
            #expect(Self.refusal(role, "GET", path, reads: true) == nil)
        }
    }

    @Test("Editors can't create fields")
    func fields() {
        #expect(Self.refusal(.editor, "PUT", "classes/Song/1", reads: false, [:], ["title", "ACL"]) == nil)
        #expect(Self.refusal(.editor, "PUT", "classes/Song/1", reads: false, [:], ["title.inner"]) == nil)
        #expect(Self.refusal(.editor, "PUT", "classes/Song/1", reads: false, [:], ["other"]) != nil)
    }

    @Test(
        "Viewers and editors can't guess session tokens by searching, or project them under another name",
        arguments: [
            ("sessions", ["where": ["sessionToken": ["$regex": "^r:a"]]]),
            ("sessions", ["order": "-sessionToken"]),
            (
                "classes/Song",
                ["where": ["user": ["$inQuery": ["className": "_Session", "where": ["sessionToken": "r:"]]]]]
            ),
            ("classes/Song", ["where": "{\"session\\u0054oken\":1}"]),
            ("aggregate/_Session", ["pipeline": []]),
            ("aggregate/Song", ["pipeline": [["$lookup": ["from": "_Session"]]]]),
            ("aggregate/Song", ["pipeline": [["$project": ["x": "$sessionToken"]]]]),
        ] as [(String, JSONObject)])
    func tokens(path: String, parameters: JSONObject) {
        for role in [ConsoleRole.viewer, .editor] {
            #expect(Self.refusal(role, "GET", path, reads: true, parameters) != nil)
        }
        #expect(Self.refusal(.developer, "GET", path, reads: true, parameters) == nil)
    }

    @Test("Viewers can request session columns by name, since responses contain no tokens")
    func columns() {
        #expect(Self.refusal(.viewer, "GET", "sessions", reads: true, ["keys": "user,sessionToken"]) == nil)
    }

    @Test(
        "Viewers can't guess user secrets by searching",
        arguments: [
            "_perishable_token", "_email_verify_token", "_hashed_password", "_password_history", "authData.a.id",
        ])
    func secretsOfUsers(field: String) {
        let find: JSONObject = ["where": .object([Name(field): ["$regex": "^k"]])]
        let match: JSONObject = ["pipeline": [["$match": .object([Name(field): "k"])]]]
        #expect(Self.refusal(.viewer, "GET", "classes/_User", reads: true, find) != nil)
        #expect(Self.refusal(.viewer, "GET", "aggregate/_User", reads: true, match) != nil)
        // Editors can read users' login providers.
        #expect((Self.refusal(.editor, "GET", "classes/_User", reads: true, find) == nil) == field.hasPrefix("auth"))
        #expect(Self.refusal(.developer, "GET", "classes/_User", reads: true, find) == nil)
    }

    @Test("Viewers can't aggregate users, because expressions can turn whole documents into text")
    func documents() throws {
        let text: JSONValue = ["$project": ["x": ["$concat": ["$$ROOT"]]]]
        let joined: JSONValue = [
            "$lookup": ["from": "_User", "localField": "o", "foreignField": "objectId", "as": "u"]
        ]
        for (path, stages) in [("aggregate/_User", [text]), ("aggregate/Owned", [joined, text])] {
            let pipeline: JSONObject = ["pipeline": .array(stages)]
            #expect(Self.refusal(.viewer, "GET", path, reads: true, pipeline) != nil)
            #expect(Self.refusal(.editor, "GET", path, reads: true, pipeline) == nil)
            let written = JSONValue.array(stages).text.replacing("_User", with: "_\\u0055ser")
            #expect((Self.refusal(.viewer, "GET", path, reads: true, ["pipeline": .string(written)]) == nil) == false)
        }
        #expect(Self.refusal(.viewer, "GET", "aggregate/Song", reads: true, ["pipeline": [text]]) == nil)
    }

    @Test("Replaces secret values at any depth with a marker")
    func secrets() {
        let kept = SecretValues.removed(from: [
            "title": "x", "password": "p", "authData": ["a": ["id": "1"]],
            "inner": ["api_token": "t", "list": [["secret": 1]]],
        ])
        #expect(
            kept == [
                "title": "x", "password": "changed", "authData": "changed",
                "inner": ["api_token": "changed", "list": [["secret": "changed"]]],
            ])
    }
}

extension ClassSchema {
    fileprivate init(name: String, adding field: Name) {
        self.init(name: name)
        fields[field] = Field(.string)
    }
}
