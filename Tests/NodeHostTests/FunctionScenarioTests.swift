import JSON
import TestSupport
import Testing

@Suite("Functions in JavaScript")
struct FunctionScenarioTests {
    private struct Scenario: Sendable {
        let name: String
        let function: String
        var params: JSONValue = [:]
        var status = 200
        let answer: JSONValue
    }

    private static func error(_ code: Double, _ text: String) -> JSONValue {
        ["code": .number(code), "error": .string(text)]
    }

    private static let date: JSONValue = .date("2016-05-22T09:00:00.000Z")

    private static let answers = [
        Scenario(name: "gets a Date", function: "typeOfDate", params: ["d": date], answer: ["result": "Date"]),
        Scenario(
            name: "gets a pointer", function: "typeOfPointer", params: ["p": .pointer("Thing", "one")],
            answer: ["result": "one"]),
        Scenario(
            name: "requires a module by a cloud/ path", function: "place", answer: ["result": "found beside main.js"]),
        Scenario(name: "sees no server environment", function: "environment", answer: ["result": []]),
        Scenario(
            name: "sets a status with the response object", function: "status", status: 201,
            answer: ["result": ["made": true]]),
        Scenario(name: "responds twice", function: "twice", answer: ["result": 1]),
        Scenario(name: "reads a missing config parameter", function: "config", answer: ["result": .null]),
        Scenario(name: "sends email without a mail adapter", function: "mail", answer: ["result": .null]),
    ]

    private static let errors = [
        Scenario(
            name: "throws an object", function: "throwObject", status: 400,
            answer: error(141, #"{"why":"because"}"#)),
        Scenario(
            name: "throws an error whose code isn't a number", function: "wrongName", status: 400,
            answer: error(141, "not a number")),
        Scenario(
            name: "rejects with the response object", function: "refuse", status: 400,
            answer: error(141, "refused by the response")),
        Scenario(
            name: "fetches a missing object", function: "missing", status: 404,
            answer: error(101, "Object not found.")),
        Scenario(
            name: "uses parse-server internals", function: "insides", status: 400,
            answer: error(141, "Parse.Server is internal to parse-server and not supported.")),
        Scenario(
            name: "requires a parse-server module", function: "insideModule", status: 400,
            answer: error(141, "require('parse-server/lib/Config'): parse-server's modules don't work in Roost.")),
        Scenario(
            name: "calls the removed httpRequest", function: "httpRequest", status: 400,
            answer: error(
                141,
                "Parse.Cloud.httpRequest was removed in parse-server 6. "
                    + "Use fetch, or turn it on with the option cloudHttpRequest.")),
        Scenario(
            name: "returns a value nested too deep", function: "deep", status: 400,
            answer: error(
                141, "Cloud code returned a value that can't be sent: The value is nested deeper than 250 levels.")),
        Scenario(
            name: "returns an unsaved file", function: "unsavedFile", status: 400,
            answer: error(141, "Tried to encode an unsaved file.")),
    ]

    private static let validations = [
        Scenario(
            name: "validator throws null", function: "null", status: 400, answer: error(142, "Validation failed.")),
        Scenario(
            name: "validator returns false", function: "false", params: ["a": 1], answer: ["result": ["a": 1]]),
        Scenario(name: "field of type Date", function: "date", params: ["d": date], answer: ["result": ["d": date]]),
        Scenario(
            name: "options function rejects", function: "optionsByFunction", params: ["x": 3], status: 400,
            answer: error(142, "more than three")),
        Scenario(
            name: "options function accepts", function: "optionsByFunction", params: ["x": 4],
            answer: ["result": ["x": 4]]),
        Scenario(name: "default value", function: "default", answer: ["result": ["x": 5]]),
        Scenario(
            name: "requireUserKeys without a user", function: "userKeys", status: 400,
            answer: error(142, "Validation failed. Please login to continue.")),
    ]

    @Test("Functions, errors and validators that only JavaScript can have respond as in parse-server")
    func scenarios() async throws {
        try await CloudApp.serve(try CloudApp.files("scenarios")) { server, _ in
            for scenario in Self.answers + Self.errors {
                let answer = try await server.call(scenario.function, scenario.params)
                #expect(answer.status == scenario.status, "\(scenario.name): \(answer.text)")
                #expect(same(answer.json, scenario.answer), "\(scenario.name): \(answer.text)")
            }
            for scenario in Self.validations {
                let name = "validator-" + scenario.function
                let answer = try await server.call(name, scenario.params)
                #expect(answer.status == scenario.status, "\(scenario.name): \(answer.text)")
                #expect(same(answer.json, scenario.answer), "\(scenario.name): \(answer.text)")
            }
            #expect(try await server.call("status").headers["x-test"] == "yes")
            #expect(try await server.logs("Cannot call success() after response has already been sent."))
            #expect(try await server.logs("Failed to send email because no mail adapter is configured"))
            try await Self.callers(server)
            try await Self.lateRegistration(server)
        }
    }

    private static func callers(_ server: TestServer) async throws {
        let user = try await server.signUp("caller")
        let headers = ["X-Test": "yes", "X-Parse-Installation-Id": "phone"]
        let master = try await server.call("who", as: .master)
        #expect(master["result"]?["secret"] == .null)
        #expect(master["result"]?["name"] == "who")
        // Cloud code chooses the caller of its own calls. They have its caller's address.
        let nested = try await server.call("run", as: .session(user.token), headers: headers)
        #expect(nested["result"]?["user"] == "caller", "\(nested.text)")
        #expect(nested["result"]?["installation"] == "cloud")
        #expect(nested["result"]?["header"] == "yes")
        #expect(try await server.call("login", ["username": "caller"])["result"] == "caller")
        try await roles(server, user.id, user.token)
    }

    private static func roles(_ server: TestServer, _ id: String, _ token: String) async throws {
        for name in ["validator-roles", "validator-rolesByFunction"] {
            let refused = try await server.call(name, as: .session(token))
            #expect(refused.code == 142 && refused.error?.hasSuffix("required roles.") == true, "\(refused.text)")
        }
        let acl: JSONValue = ["*": ["read": true]]
        let inner = try await server.send(
            "POST", "/roles", ["name": "B", "ACL": acl, "users": .operation("AddRelation", [.pointer("_User", id)])],
            as: .master
        ).succeeded().string("objectId")
        let roles = JSONValue.operation("AddRelation", [.pointer("_Role", inner)])
        _ = try await server.send("POST", "/roles", ["name": "A", "ACL": acl, "roles": roles], as: .master).succeeded()
        for name in ["validator-roles", "validator-rolesByFunction"] {
            let answer = try await server.call(name, as: .session(token))
            #expect(answer.status == 200, "\(name): \(answer.text)")
        }
    }

    private static func lateRegistration(_ server: TestServer) async throws {
        #expect(try await server.call("later").code == 141)
        _ = try await server.call("late").succeeded()
        #expect(try await eventually { try await server.call("later")["result"] == "here" })
    }

    @Test("Files of a form reach functions and validators as buffers; JSON of the same shape doesn't")
    func forms() async throws {
        let code = """
            const check = request => {
              if (!Buffer.isBuffer(request.params.file.data)) throw new Parse.Error(142, 'no file');
            };
            Parse.Cloud.define('store', ({ params: { file, note } }) => ({
              hex: file.data.toString('hex'), filename: file.filename, contentType: file.contentType, note,
            }), check);
            """
        try await CloudApp.serve(["main.js": code]) { server, _ in
            let answer = try await server.sendForm(
                "/functions/store", [.text("note", "5"), .file("file", "a.bin", [0, 255, 128], type: "image/png")])
            let expected: JSONValue = [
                "hex": "00ff80", "filename": "a.bin", "contentType": "image/png", "note": "5",
            ]
            #expect(same(answer["result"], expected), "\(answer.text)")
            // The parameters as a whole are not decoded as a typed value, even with a `__type`.
            let typed = try await server.sendForm(
                "/functions/store", [.text("__type", "Date"), .file("file", "a.bin", [0, 255, 128])])
            #expect(typed["result"]?["hex"] == "00ff80", "\(typed.text)")
            let claimed = try await server.call(
                "store", ["file": ["filename": "a.bin", "contentType": "image/png", "data": "AP+A"]])
            #expect(claimed.code == 142, "\(claimed.text)")
            // A query parameter replaces the file.
            let replaced = try await server.sendForm("/functions/store?file=text", [.file("file", "a.bin", [1])])
            #expect(replaced.code == 142, "\(replaced.text)")
        }
    }
}
