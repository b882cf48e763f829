import Console
import JSON
import ParseModel
import Testing

@Suite("What roles may call")
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
        "A viewer only reads, and by GET alone",
        arguments: [
            ("GET", "classes/Song", true, true), ("POST", "classes/Song", false, false), ("GET", "login", false, false),
            ("POST", "batch", true, false), ("POST", "functions/f", true, false),
            ("DELETE", "classes/Song/1", false, false),
        ])
    func viewer(method: String, path: String, reads: Bool, may: Bool) {
        #expect((Self.refusal(.viewer, method, path, reads: reads) == nil) == may)
    }

    @Test(
        "An editor writes objects and files, and nothing else",
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
        "Logs and the addresses of webhooks are for developers",
        arguments: [
            "scriptlog", "hooks/functions", "Hooks/triggers", "classes/_Hooks", "Classes/_Hooks/1", "aggregate/_Hooks",
        ])
    func developers(path: String) {
        for role in [ConsoleRole.viewer, .editor] {
            #expect(Self.refusal(role, "GET", path, reads: true) != nil)
        }
        for role in [ConsoleRole.developer, .owner] {
            #expect(Self.refusal(role, "GET", path, reads: true) == nil)
        }
    }

    @Test("An editor makes no fields")
    func fields() {
        #expect(Self.refusal(.editor, "PUT", "classes/Song/1", reads: false, [:], ["title", "ACL"]) == nil)
        #expect(Self.refusal(.editor, "PUT", "classes/Song/1", reads: false, [:], ["title.inner"]) == nil)
        #expect(Self.refusal(.editor, "PUT", "classes/Song/1", reads: false, [:], ["other"]) != nil)
    }

    @Test(
        "Viewers and editors cannot spell the token of a session out by searching, nor give it another name",
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

    @Test("The columns of sessions can be asked for by name, since answers have no tokens")
    func columns() {
        #expect(Self.refusal(.viewer, "GET", "sessions", reads: true, ["keys": "user,sessionToken"]) == nil)
    }

    @Test(
        "A viewer cannot spell a secret of a user out by searching",
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

    @Test("A viewer aggregates no users: expressions make texts of whole documents, and of what is in them")
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

    @Test("What is kept of values has no secrets in it")
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
