import JSON
import Rules
import TestSupport
import Testing

/// Errors whose text or code differs between presets 9 and 7.
@Suite struct PresetTests {
    private enum Caller {
        case nobody, owner, other, reader, badToken
    }

    private struct Refusal {
        let method: String
        let path: String
        var body: JSONValue?
        var caller = Caller.nobody
        let status: Int
        let code: Int?
        /// The text with preset 7. OWNER stands for the owner's id.
        let text: String
        /// Whether preset 9 returns a generic text.
        var isSanitized = true
    }

    private static let sanitized: [Refusal] = [
        Refusal(method: "GET", path: "/schemas", status: 403, code: nil, text: "unauthorized: master key is required"),
        Refusal(
            method: "DELETE", path: "/purge/Note", status: 403, code: nil, text: "unauthorized: master key is required"),
        Refusal(
            method: "PUT", path: "/config", body: [:], status: 403, code: nil,
            text: "unauthorized: master key is required"),
        Refusal(
            method: "DELETE", path: "/files/a.png", status: 403, code: nil, text: "unauthorized: master key is required"
        ),
        Refusal(
            method: "POST", path: "/classes/Note", body: [:], caller: .reader, status: 400, code: 119,
            text: "read-only masterKey isn't allowed to perform the create operation."),
        Refusal(
            method: "DELETE", path: "/purge/Note", caller: .reader, status: 400, code: 119,
            text: "read-only masterKey isn't allowed to purge a schema."),
        Refusal(
            method: "PUT", path: "/config", body: [:], caller: .reader, status: 400, code: 119,
            text: "read-only masterKey isn't allowed to update the config."),
        Refusal(
            method: "POST", path: "/schemas/Fresh", body: [:], caller: .reader, status: 400, code: 119,
            text: "read-only masterKey isn't allowed to create a schema."),
        Refusal(
            method: "POST", path: "/classes/Fresh", body: [:], status: 400, code: 119,
            text: "This user is not allowed to access non-existent class: Fresh"),
        Refusal(
            method: "GET", path: "/classes/Fresh", status: 400, code: 119,
            text: "This user is not allowed to access non-existent class: Fresh"),
        Refusal(
            method: "GET", path: "/classes/Closed", status: 400, code: 119,
            text: "Permission denied for action find on class Closed."),
        Refusal(
            method: "GET", path: "/classes/Closed/x", status: 404, code: 101,
            text: "Permission denied, user needs to be authenticated."),
        Refusal(
            method: "POST", path: "/classes/Closed", body: ["fresh": 1], status: 400, code: 119,
            text: "Permission denied for action addField on class Closed."),
        Refusal(
            method: "GET", path: "/classes/_JobStatus", status: 400, code: 119,
            text: "Clients aren't allowed to perform the find operation on the _JobStatus collection."),
        Refusal(
            method: "GET", path: "/installations", status: 400, code: 119,
            text: "Clients aren't allowed to perform the find operation on the installation collection."),
        Refusal(
            method: "DELETE", path: "/installations/x", status: 400, code: 119,
            text: "Clients aren't allowed to perform the delete operation on the installation collection."),
        Refusal(
            method: "PUT", path: "/users/OWNER", body: ["emailVerified": true], caller: .owner, status: 400, code: 119,
            text: "Clients aren't allowed to manually update email verification."),
        Refusal(
            method: "PUT", path: "/users/OWNER", body: ["a": 1], status: 400, code: 206,
            text: "Cannot modify user OWNER."),
        Refusal(
            method: "PUT", path: "/users/OWNER", body: ["a": 1], caller: .other, status: 400, code: 206,
            text: "Insufficient auth."),
        Refusal(
            method: "DELETE", path: "/users/OWNER", caller: .other, status: 400, code: 206, text: "Insufficient auth."),
        Refusal(
            method: "GET", path: "/classes/Note?where=%7B%22secret%22%3A1%7D", status: 400, code: 119,
            text: "This user is not allowed to query secret on class Note"),
        Refusal(
            method: "GET", path: "/classes/Note?order=secret", status: 400, code: 119,
            text: "This user is not allowed to sort by secret on class Note"),
        Refusal(method: "GET", path: "/users/me", status: 400, code: 209, text: "Invalid session token"),
        Refusal(method: "GET", path: "/sessions", status: 400, code: 209, text: "Invalid session token"),
        Refusal(
            method: "POST", path: "/loginAs", body: ["userId": "OWNER"], status: 400, code: 119,
            text: "master key is required"),
    ]

    private static let plain: [Refusal] = [
        Refusal(
            method: "DELETE", path: "/users/OWNER", status: 400, code: 206, text: "Insufficient auth to delete user",
            isSanitized: false),
        Refusal(
            method: "GET", path: "/classes/Note/nosuch", status: 404, code: 101, text: "Object not found.",
            isSanitized: false),
        Refusal(
            method: "POST", path: "/login", body: ["username": "kim", "password": "wrong"], status: 404, code: 101,
            text: "Invalid username/password.", isSanitized: false),
        Refusal(
            method: "GET", path: "/classes/Note", caller: .badToken, status: 400, code: 209,
            text: "Invalid session token",
            isSanitized: false),
        Refusal(
            method: "POST", path: "/classes/Note", body: ["text": 1], status: 400, code: 111,
            text: "schema mismatch for Note.text; expected String but got Number", isSanitized: false),
        Refusal(
            method: "GET", path: "/classes/Note?where=%7B", status: 400, code: 107,
            text: "where parameter is not valid JSON",
            isSanitized: false),
        Refusal(
            method: "GET", path: "/classes/Note?where=%7B%22%24foo%22%3A1%7D", status: 400, code: 105,
            text: "Invalid key name: $foo", isSanitized: false),
        Refusal(
            method: "GET", path: "/classes/Note?where=%7B%22%24or%22%3A1%7D", status: 400, code: 102,
            text: "Bad $or format - use an array value.", isSanitized: false),
        Refusal(
            method: "GET", path: "/classes/Note?nosuch=1", status: 400, code: 102,
            text: "Invalid parameter for query: nosuch", isSanitized: false),
        Refusal(
            method: "POST", path: "/users", body: ["username": "kim", "password": "x"], status: 400, code: 202,
            text: "Account already exists for this username.", isSanitized: false),
        Refusal(
            method: "POST", path: "/sessions", body: [:], status: 400, code: 209, text: "Session token required.",
            isSanitized: false),
        Refusal(
            method: "PUT", path: "/classes/Note/x", body: ["text": .increment(1)], status: 400, code: 111,
            text: "schema mismatch for Note.text; expected String but got Number", isSanitized: false),
    ]

    private static func makeClasses(_ server: TestServer) async throws {
        let open: JSONValue = ["*": true]
        let closed: JSONObject = [
            "create": open, "get": ["requiresAuthentication": true], "count": open, "update": open, "delete": open,
        ]
        _ = try await server.send(
            "POST", "/schemas/Closed",
            ["fields": ["text": ["type": "String"]], "classLevelPermissions": .object(closed)], as: .master
        ).succeeded()
        let note: JSONObject = [
            "find": open, "get": open, "count": open, "create": open, "update": open, "delete": open, "addField": open,
            "protectedFields": ["*": ["secret"]],
        ]
        _ = try await server.send(
            "POST", "/schemas/Note",
            [
                "fields": ["text": ["type": "String"], "secret": ["type": "Number"]],
                "classLevelPermissions": .object(note),
            ], as: .master
        ).succeeded()
    }

    @Test("Preset 9 hides only the reasons of permission errors, and preset 7 hides nothing", arguments: [9, 7])
    func refusals(preset: Int) async throws {
        let options: JSONObject = [
            "preset": .number(Double(preset)), "allowClientClassCreation": false, "readOnlyMasterKey": "reader",
        ]
        try await TestServer.run(options) { server in
            try await Self.makeClasses(server)
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            for refusal in Self.sanitized + Self.plain {
                var identity = TestServer.Identity.anonymous
                var headers: [String: String] = [:]
                switch refusal.caller {
                case .nobody: break
                case .owner: identity = .session(kim.token)
                case .other: identity = .session(lou.token)
                case .badToken: identity = .session("r:00000000000000000000000000000000")
                case .reader:
                    identity = .nobody
                    headers = SecurityProbe.reader
                }
                let what = "\(refusal.method) \(refusal.path) \(refusal.caller)"
                let answer = try await server.send(
                    refusal.method, refusal.path.replacing("OWNER", with: kim.id), refusal.body, as: identity,
                    headers: headers)
                #expect(answer.status == refusal.status, "\(what): \(answer.text)")
                #expect(answer.code == refusal.code, "\(what): \(answer.text)")
                let isHidden = refusal.isSanitized && preset == 9
                let text = isHidden ? "Permission denied" : refusal.text.replacing("OWNER", with: kim.id)
                #expect(answer.error == text, "\(what)")
            }
        }
    }

    /// Queries of the class `Note`, and the error codes with presets 9 and 7, or nil if they succeed.
    private static let queries: [(JSONObject, Int?, Int?)] = [
        (["where": ["text": ["$nosuch": 1]]], 102, 107), (["where": ["text": ["$in": ["a"], "$nosuch": 1]]], 102, 107),
        (["where": ["text": ["$in": ["a", 1]]]], 102, nil), (["where": ["text": ["$nin": [1]]]], 102, nil),
        (["where": ["nosuch": ["$in": [1]]]], nil, nil), (["explain": true], 102, nil),
        (["where": ["text": ["$regex": 1]]], 102, 102),
        (["where": ["text": ["$regex": "a", "$options": "u"]]], nil, nil),
        (["where": ["$nor": 1]], 102, 102), (["where": ["nosuch": 1]], nil, nil), (["order": "nosuch"], nil, nil),
        (["keys": ["text", "nosuch"], "order": ["text"], "include": []], nil, nil), (["where": [1]], 107, 107),
    ]

    @Test("Rejects invalid queries with the error codes of the preset", arguments: [9, 7])
    func queries(preset: Int) async throws {
        try await TestServer.run(["preset": .number(Double(preset))]) { server in
            try await Self.makeClasses(server)
            _ = try await server.create("Note", ["text": "a"])
            for (parameters, nine, seven) in Self.queries {
                let answer = try await server.find("Note", parameters)
                let expected = preset == 9 ? nine : seven
                #expect(answer.code == expected, "\(parameters): \(answer.text)")
                #expect(answer.status == (expected == nil ? 200 : 400), "\(parameters): \(answer.text)")
            }
            let explained = try await server.find("Note", ["explain": true], as: .master)
            #expect(explained.status == 200)
        }
    }
}
