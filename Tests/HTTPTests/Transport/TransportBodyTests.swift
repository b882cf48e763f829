import HTTP
import JSON
import REST
import TestSupport
import Testing

@Suite("Request bodies")
struct TransportBodyTests {
    private typealias Server = TransportServer

    @Test(
        "Parses a JSON body with any content type",
        arguments: ["application/json", "text/plain", "application/x-www-form-urlencoded", "image/png", "", ";;;"])
    func contentTypes(type: String) async throws {
        try await Server.run { client in
            let headers = Server.client.merging(["Content-Type": type]) { $1 }
            let answer = try await client.request("POST", "/parse/x", headers: headers, text: #" {"a": {"b": [1]}}"#)
            #expect(answer.json["body"] == .object(["a": .object(["b": .array([.number(1)])])]))
        }
    }

    @Test("Parses an empty body as {}, an array as an object of its indexes and a form as strings")
    func otherForms() async throws {
        try await Server.run { client in
            for (type, text, expected) in [
                ("application/json", "", [:]), ("application/json", "[]", [:]),
                ("application/json", #"["x",2]"#, ["0": .string("x"), "1": .number(2)]),
                ("application/x-www-form-urlencoded", "a=1+2&b=%7B%7D", ["a": .string("1 2"), "b": .string("{}")]),
                ("application/json", "\u{FEFF}{\"a\":true}", ["a": .bool(true)]),
                ("application/json", #"{"a":"\\u0000"}"#, ["a": .string(#"\u0000"#)]),
            ] as [(String, String, JSONObject)] {
                let headers = Server.client.merging(["Content-Type": type]) { $1 }
                let answer = try await client.request("POST", "/parse/x", headers: headers, text: text)
                #expect(answer.json["body"] == .object(expected))
            }
        }
    }

    @Test("Rejects malformed bodies with 400 and an error without a code")
    func malformed() async throws {
        let bodies: [[UInt8]] =
            [
                "{", "}", "{\"a\"}", "{\"a\":1,}", "[1", "nonsense", "\"text\"", "5", "null", " ", "{\"a\":1}x",
                "{\"a\":\"\\u0000\"}", "{\"a\":\"\u{0}\"}", "\u{0}", "{\"\\u0000\":1}",
                String(repeating: "[", count: 50_000),
                String(repeating: "[", count: 202) + String(repeating: "]", count: 202),
                String(repeating: "{\"a\":", count: 300) + "1" + String(repeating: "}", count: 300),
            ].map { Array($0.utf8) } + [[0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D], [0xC3, 0x28]]
        try await Server.run { client in
            for body in bodies {
                let headers = Server.client.merging(["Content-Type": "application/json"]) { $1 }
                let answer = try await client.request("POST", "/parse/x", headers: headers, body: body)
                #expect(answer.status == 400, "\(String(decoding: body.prefix(40), as: UTF8.self))")
                #expect(answer.json.keys == ["error"])
            }
        }
    }

    @Test("Accepts bodies of GET, DELETE and PUT")
    func bodiesOfOtherMethods() async throws {
        try await Server.run { client in
            for method in ["GET", "DELETE", "PUT"] {
                let answer = try await client.request(
                    method, "/parse/x?a=2", headers: Server.client, text: #"{"a":1,"b":1}"#)
                #expect(answer.json["method"] == .string(method))
                #expect(answer.json["body"] == .object(["a": .number(1), "b": .number(1)]))
                #expect(answer.json["query"] == .object(["a": .number(2)]))
            }
        }
    }

    @Test("Query parameters override the body")
    func parameters() {
        let envelope = Envelope(
            from: RequestOrigin(), method: .get, path: [], rawPath: "", query: ["a": .number(2)],
            body: ["a": .number(1), "b": .number(1)])
        #expect(envelope.parameters == ["a": .number(2), "b": .number(1)])
    }

    @Test("Rejects compressed bodies")
    func compressed() async throws {
        try await Server.run { client in
            for encoding in ["gzip", "deflate", "br"] {
                let headers = Server.client.merging(["Content-Encoding": encoding]) { $1 }
                let answer = try await client.request("POST", "/parse/x", headers: headers, text: "{}")
                #expect(answer.status == 415)
            }
            let headers = Server.client.merging(["Content-Encoding": "identity"]) { $1 }
            #expect(try await client.request("POST", "/parse/x", headers: headers, text: "{}").status == 200)
        }
    }
}
