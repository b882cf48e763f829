import JSON
import TestSupport
import Testing

/// Function calls with `multipart/form-data` bodies.
@Suite struct FunctionFormTests {
    @Test("Form fields arrive as strings, files with name, type and data; the query string takes precedence")
    func params() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                try await hooks.function("f", on: server) { .success($0["params"] ?? .null) }
                let answer = try await server.sendForm(
                    "/functions/f?query=1",
                    [
                        .text("number", "5"), .text("empty", ""), .text("query", "2"),
                        .file("picture", #"C:\d\p.png"#, [0, 255, 13, 10], type: "image/png; q=1"),
                        .file("nothing", "n", []),
                    ])
                let expected: JSONValue = [
                    "number": "5", "empty": "", "query": "1",
                    "picture": ["filename": "p.png", "contentType": "image/png", "data": "AP8NCg=="],
                    "nothing": ["filename": "n", "contentType": "application/octet-stream", "data": ""],
                ]
                #expect(same(answer["result"], expected), "\(answer.text)")
                let empty = try await server.sendForm("/functions/f", [])
                #expect(empty["result"] == [:], "\(empty.text)")
                #expect(try await server.sendForm("/functions/g", [.text("a", "1")]).code == 141)
            }
        }
    }

    @Test("Rejects a malformed form or duplicate parts with 107, and a form that is too large with 116")
    func refusals() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run(["maxUploadSize": "10kb"]) { server in
                try await hooks.function("f", on: server) { _ in .success(1) }
                for body in ["--limit\r\nContent", "no form", "--limit\r\n\r\n1\r\n--limit--"] {
                    let broken = try await server.send(
                        "POST", "/functions/f", bytes: Array(body.utf8),
                        headers: ["Content-Type": "multipart/form-data; boundary=limit"])
                    #expect(broken.status == 400 && broken.code == 107, "\(broken.text)")
                    #expect(broken.error?.hasPrefix("Invalid multipart request: ") == true, "\(broken.text)")
                }
                let twice = try await server.sendForm("/functions/f", [.text("a", "1"), .file("a", "a", [1])])
                #expect(twice.code == 107, "\(twice.text)")
                let large = try await server.sendForm(
                    "/functions/f", [.file("a", "a", [UInt8](repeating: 1, count: 20_000))])
                #expect(large.status == 400)
                #expect(large.json == ["code": 116, "error": "Multipart request exceeds maximum upload size."])
                #expect(hooks.calls.isEmpty)
                let long = JSONValue.string(String(repeating: "x", count: 20_000))
                #expect(try await server.send("POST", "/functions/f", ["a": long]).status == 413)
            }
        }
    }
}
