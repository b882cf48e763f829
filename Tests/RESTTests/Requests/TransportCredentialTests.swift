import HTTP
import JSON
import REST
import TestSupport
import Testing

@Suite("Request credentials")
struct TransportCredentialTests {
    private typealias Server = TransportServer

    @Test("Reads the JavaScript SDK's credentials from the body and removes them")
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
        "Rejects missing, wrong or non-string credentials in a body with 403",
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

    @Test("Rejects a non-string session token in a body with 209")
    func sessionTokenOfAnotherType() async throws {
        try await Server.run { client in
            let body = #"{"_ApplicationId":"app","_JavaScriptKey":"js","_SessionToken":{"$regex":"."}}"#
            let answer = try await client.request("POST", "/parse/x", text: body)
            #expect(answer.status == 400)
            #expect(answer.text == #"{"code":209,"error":"Invalid session token"}"#)
        }
    }

    @Test("Ignores empty or null credentials in a body and leaves them there")
    func falsyCredentials() async throws {
        try await Server.run { client in
            let text = #"{"_ApplicationId":"app","_JavaScriptKey":"js","_SessionToken":null,"_MasterKey":""}"#
            let answer = try await client.request("POST", "/parse/x", text: text)
            #expect(answer.json["sessionToken"] == .null)
            #expect(answer.json["body"] == .object(["_SessionToken": .null, "_MasterKey": .string("")]))
        }
    }

    @Test("Matches header names in any case, trims values and joins repeated headers with a comma")
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

    @Test("Ignores an empty installation id in a header, with which a log-in would end another device's session")
    func emptyInstallationId() async throws {
        try await Server.run { client in
            var headers = Server.client
            headers["X-Parse-Installation-Id"] = " "
            let answer = try await client.request("POST", "/parse/x", headers: headers, text: "{}")
            #expect(answer.status == 200 && answer.json["installationID"] == .null)
        }
    }

    @Test("With valid credentials in headers, ignores keys in the body and leaves them there")
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
        "Accepts a context only as a JSON object or as a string that contains one",
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

    @Test("Accepts the application id and a key by HTTP Basic authentication")
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
        "Uses the first of two Authorization headers",
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
