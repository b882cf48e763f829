import HTTP
import JSON
import REST
import TestSupport
import Testing

@Suite("Where credentials come from")
struct TransportCredentialTests {
    private typealias Server = TransportServer

    @Test("The JavaScript SDK sends its credentials in the body, and they are taken out of it")
    func bodyCredentials() async throws {
        try await Server.run { client in
            let text = #"""
                {"_ApplicationId":"app","_JavaScriptKey":"js","_ClientVersion":"js5.0.0","_InstallationId":"i1",
                "_SessionToken":"r:1","_MasterKey":"master","_RevocableSession":"1","_noBody":true,"_method":"PUT",
                "_context":{"c":1},"a":1}
                """#
            let headers = ["Content-Type": "text/plain"]
            let answer = try await client.request("POST", "/parse/x", headers: headers, text: text)
            #expect(answer.status == 200)
            #expect(answer.json["body"] == .object(["a": .number(1)]))
            #expect(answer.json["power"] == .string("master"))
            #expect(answer.json["method"] == .string("PUT"))
            #expect(answer.json["sessionToken"] == .string("r:1"))
            #expect(answer.json["installationID"] == .string("i1"))
            #expect(answer.json["clientVersion"] == .string("js5.0.0"))
            #expect(answer.json["context"] == .object(["c": .number(1)]))
        }
    }

    @Test(
        "Credentials in a body must be right, and strings",
        arguments: [
            #"{"_ApplicationId":"nope","_JavaScriptKey":"js"}"#, #"{"_ApplicationId":"app","_JavaScriptKey":"wrong"}"#,
            #"{"_ApplicationId":"app"}"#, #"{"_JavaScriptKey":"js"}"#, "{}", "[]", "",
            #"{"_ApplicationId":{"$ne":null},"_JavaScriptKey":"js"}"#,
            #"{"_ApplicationId":"app","_JavaScriptKey":["js"]}"#,
            #"{"_ApplicationId":"app","_JavaScriptKey":"js","_MasterKey":1}"#,
            #"{"_ApplicationId":"constructor","_JavaScriptKey":"js"}"#,
        ])
    func refusedBodies(text: String) async throws {
        try await Server.run { client in
            let answer = try await client.request("POST", "/parse/x", text: text)
            #expect(answer.status == 403)
            #expect(answer.text == #"{"error":"unauthorized"}"#)
        }
    }

    @Test("A session token in a body that is no text is an invalid one")
    func sessionTokenOfAnotherType() async throws {
        try await Server.run { client in
            let body = #"{"_ApplicationId":"app","_JavaScriptKey":"js","_SessionToken":{"$regex":"."}}"#
            let answer = try await client.request("POST", "/parse/x", text: body)
            #expect(answer.status == 400)
            #expect(answer.text == #"{"code":209,"error":"Invalid session token"}"#)
        }
    }

    @Test("A credential that is empty or null is neither used nor removed")
    func falsyCredentials() async throws {
        try await Server.run { client in
            let text = #"{"_ApplicationId":"app","_JavaScriptKey":"js","_SessionToken":null,"_MasterKey":""}"#
            let answer = try await client.request("POST", "/parse/x", text: text)
            #expect(answer.json["sessionToken"] == .null)
            #expect(answer.json["body"] == .object(["_SessionToken": .null, "_MasterKey": .string("")]))
        }
    }

    @Test(
        "Names of header fields have any case, values lose the spaces around them, and a field sent twice has both values"
    )
    func headerFields() async throws {
        try await Server.run { client in
            let request = """
                GET /parse/x HTTP/1.1\r\nhost: x\r\nx-parse-application-id: app\r\nX-PARSE-REST-API-KEY: \trest \t\r
                X-Parse-Session-Token: r:1 \r\nX-Parse-Installation-Id: a\r\nx-parse-installation-id:b\r\n\r\n
                """
            let answer = try await client.connect { connection in
                try await connection.send(request)
                return try await connection.receive()
            }
            #expect(answer?.status == 200)
            #expect(answer?.json["sessionToken"] == .string("r:1"))
            #expect(answer?.json["installationID"] == .string("a, b"))
        }
    }

    @Test("Beside valid headers the body keeps its keys, except those that nobody reads")
    func headerCredentials() async throws {
        try await Server.run { client in
            let text = #"{"_ApplicationId":"app","_MasterKey":"master","_ClientVersion":"browser","_noBody":1,"a":1}"#
            let answer = try await client.request("POST", "/parse/x", headers: Server.client, text: text)
            #expect(answer.json["power"] == .string("client"))
            let expected: JSONObject = [
                "_ApplicationId": .string("app"), "_MasterKey": .string("master"), "a": .number(1),
            ]
            #expect(answer.json["body"] == .object(expected))
        }
    }

    @Test(
        "A context is a JSON object",
        arguments: [
            (#""notjson""#, false), (#""[1]""#, false), ("[1]", false), ("5", false), (#""{\"a\":1}""#, true),
            (#"{"a":1}"#, true),
        ])
    func contexts(context: String, isValid: Bool) async throws {
        try await Server.run { client in
            let text = #"{"_ApplicationId":"app","_JavaScriptKey":"js","_context":\#(context)}"#
            let answer = try await client.request("POST", "/parse/x", text: text)
            #expect(answer.status == (isValid ? 200 : 400))
            if !isValid { #expect(answer.text == #"{"code":107,"error":"Invalid object for context."}"#) }
        }
    }

    @Test("HTTP Basic authentication carries the application id and a key")
    func basic() async throws {
        try await Server.run { client in
            for (token, power) in [
                ("YXBwOm1hc3Rlcg==", "master"), ("YXBwOmphdmFzY3JpcHQta2V5PWpz", "client"),
                ("YXBwOndyb25n", nil), ("bm9wZTptYXN0ZXI=", nil), ("%%%", nil),
            ] as [(String, String?)] {
                let headers = ["Authorization": "Basic \(token)"]
                let answer = try await client.request("GET", "/parse/x", headers: headers)
                #expect(answer.status == (power == nil ? 403 : 200))
                #expect(answer.json["power"] == power.map { .string($0) })
            }
        }
    }

    @Test(
        "Of two Authorization fields the first counts",
        arguments: [(["YXBwOm1hc3Rlcg==", "YXBwOndyb25n"], 200), (["YXBwOndyb25n", "YXBwOm1hc3Rlcg=="], 403)])
    func twoAuthorizations(tokens: [String], status: Int) async throws {
        try await Server.run { client in
            let fields = tokens.map { "Authorization: Basic \($0)\r\n" }.joined()
            let answer = try await client.connect { connection in
                try await connection.send("GET /parse/x HTTP/1.1\r\nHost: x\r\n\(fields)\r\n")
                return try await connection.receive()
            }
            #expect(answer?.status == status)
        }
    }
}
