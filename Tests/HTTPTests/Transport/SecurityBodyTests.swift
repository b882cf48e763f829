import HTTP
import REST
import ServerConfiguration
import TestSupport
import Testing

@Suite("Attacks with large bodies")
struct SecurityBodyTests {
    private typealias Server = TransportServer

    /// A JSON object larger than the given size.
    private static func object(_ size: Int, with members: String = "") -> String {
        "{\"a\":\"" + String(repeating: "x", count: size) + "\"" + members + "}"
    }

    @Test(
        "Rejects wrong keys in the headers without waiting for a large body",
        arguments: [
            "X-Parse-Application-Id: app\r\nX-Parse-REST-API-Key: wrong", "X-Parse-Application-Id: app",
            "Authorization: Basic YXBwOndyb25n",
        ])
    func keysFirst(fields: String) async throws {
        try await Server.run { client in
            let answer = try await client.connect { connection in
                // The body is never sent.
                try await connection.send(
                    "POST /parse/x HTTP/1.1\r\nHost: x\r\n\(fields)\r\nContent-Length: 90000\r\n\r\n")
                return try await connection.receive()
            }
            #expect(answer?.status == 403)
            #expect(answer?.text == #"{"error":"unauthorized"}"#)
        }
    }

    @Test(
        "Rejects a large body without the application's keys before parsing it as JSON",
        arguments: [
            ("x", "", 403), ("x", #","_ApplicationId":"other""#, 403), ("x", #","_ApplicationID":"app""#, 403),
            ("x", #","_ApplicationId" : "app","_JavaScriptKey":"js"}"#, 400),
            ("x", #","_ApplicationId":"app","_JavaScriptKey":"js""#, 200),
            ("files/a.txt", "", 403), ("files/a.txt", #","_ApplicationId":"app","_JavaScriptKey":"js""#, 400),
        ])
    func namesFirst(path: String, members: String, status: Int) async throws {
        try await Server.run { client in
            // Invalid JSON would lead to 400 if it were read.
            let text = Self.object(80_000, with: members) + (members.isEmpty ? "}" : "")
            let answer = try await client.request("POST", "/parse/\(path)", text: text)
            #expect(answer.status == status, "\(answer.text.prefix(100))")
        }
    }

    @Test("Accepts large base64 files of the JavaScript SDK, whose keys follow the file")
    func filesInJSON() async throws {
        try await Server.run {
            $0.maxUploadSize = 4_000_000
            $0.fileUpload.callers.enableForPublic = true
            $0.fileUpload.callers.enableForAnonymousUser = true
        } body: { client in
            let base64 = String(repeating: "QUJD", count: 500_000)
            let text =
                #"{"base64":"\#(base64)","_ContentType":"text/plain","_ApplicationId":"app","_JavaScriptKey":"js"}"#
            let answer = try await client.request("POST", "/parse/files/a.txt", text: text)
            #expect(answer.status == 201, "\(answer.text.prefix(100))")
        }
    }

    @Test("Serves requests with large bodies off the event loop, and those with small bodies on it")
    func threads() async throws {
        try await Server.run {
            $0.maxUploadSize = 4_000_000
        } body: { client in
            try await client.connect { connection in
                for (size, isOnEventLoop) in [(10, true), (70_000, false), (10, true), (2_000_000, false), (10, true)] {
                    let body = Self.object(size)
                    try await connection.send(
                        "POST /parse/x HTTP/1.1\r\nHost: x\r\nX-Parse-Application-Id: app\r\n"
                            + "X-Parse-REST-API-Key: rest\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body)
                    let answer = try await connection.receive()
                    #expect(answer?.json["isOnEventLoop"] == .bool(isOnEventLoop), "\(size)")
                }
            }
        }
    }

    @Test("Serves requests despite unfinished large bodies, or responds 503 with Retry-After until they are gone")
    func halfBodies() async throws {
        var limits = HTTPServer.Limits()
        limits.transferMemory = 2_000_000
        limits.grace = .milliseconds(100)
        try await Server.run(limits: limits) {
            $0.maxUploadSize = 4_000_000
        } body: { client in
            let head =
                "POST /parse/x HTTP/1.1\r\nHost: x\r\nX-Parse-Application-Id: app\r\nX-Parse-REST-API-Key: rest\r\n"
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        try await client.connect { connection in
                            let half = String(repeating: " ", count: 700_000)
                            try? await connection.send(head + "Content-Length: 1400000\r\n\r\n" + half)
                            while try await connection.receive() != nil {}
                        }
                    }
                }
                var status = 0
                for _ in 0..<200 where status != 200 {
                    let answer = try? await client.request(
                        "POST", "/parse/x", headers: Server.client, text: Self.object(1_000_000))
                    status = answer?.status ?? 0
                    #expect([0, 200, 503].contains(status))
                    if status == 503 { #expect(answer?.header("Retry-After") == "1") }
                    try await Task.sleep(for: .milliseconds(20))
                }
                #expect(status == 200)
                group.cancelAll()
                while (try? await group.next()) != nil {}
            }
        }
    }

    @Test(
        "Rejects character sets other than UTF-8",
        arguments: [
            ("application/json; charset=iso-8859-1", 415), ("text/plain;charset=\"UTF-16\"", 415),
            ("application/json; charset=utf-8", 200), ("application/json;charset=UTF-8", 200),
            ("text/plain; x=y", 200),
        ])
    func charsets(type: String, status: Int) async throws {
        try await Server.run { client in
            let headers = Server.client.merging(["Content-Type": type]) { $1 }
            let answer = try await client.request("POST", "/parse/x", headers: headers, text: "{}")
            #expect(answer.status == status)
        }
    }
}
