import Foundation
import HTTP
import JSON
import REST
import ServerConfiguration
import TestSupport
import Testing

@Suite("Uploading files")
struct FilesUploadTests {
    private typealias Server = TransportServer

    private static let invalidCharacters = "Filename contains invalid characters."

    private func upload(
        _ client: TransportClient, _ name: String, type: String? = "text/plain", headers: [String: String]? = nil,
        text: String = "data"
    ) async throws -> TransportClient.Answer {
        var headers = headers ?? Server.master
        headers["Content-Type"] = type
        return try await client.request("POST", "/parse/files/\(name)", headers: headers, text: text)
    }

    @Test(
        "Adds a random prefix to names, and an extension if it is missing and follows from the type",
        arguments: [
            ("plain", nil, "_plain.txt"), ("noext", "text/plain", "_noext.txt"), ("x.txt", "image/png", "_x.txt"),
            ("sp%20ace.txt", "text/plain", "_sp ace.txt"), ("at@x.txt", "text/plain", "_at@x.txt"),
            ("a~b-c_d.txt", "text/plain", "_a~b-c_d.txt"), ("_under.txt", "text/plain", "__under.txt"),
            ("noext", "text/html", "_noext.html"), ("noext", "image/svg+xml", "_noext.svg"),
            ("a.tar.gz", "application/gzip", "_a.tar.gz"), ("noext", "application/x-thing", "_noext"),
            ("b.", "text/plain", "_b."), ("file", "application/x-www-form-urlencoded", "_file"),
            ("noext", "image/png; charset=binary", "_noext.png"),
            (String(repeating: "x", count: 124) + ".txt", "text/plain", String(repeating: "x", count: 124) + ".txt"),
        ] as [(String, String?, String)])
    func names(name: String, type: String?, ending: String) async throws {
        try await Server.run { client in
            let answer = try await upload(client, name, type: type)
            #expect(answer.status == 201)
            guard case .string(let stored)? = answer.json["name"], case .string(let url)? = answer.json["url"] else {
                Issue.record("no name and address")
                return
            }
            #expect(stored.hasSuffix(ending))
            #expect(stored.prefix(32).allSatisfy { $0.isHexDigit })
            #expect(answer.header("Location") == url)
            #expect(url.hasPrefix("http://127.0.0.1:\(client.port)/parse/files/app/"))
            #expect(!url.contains(" ") && !url.contains("@"))
            let path = String(url.dropFirst("http://127.0.0.1:\(client.port)".count))
            #expect(try await client.request("GET", path).text == "data")
        }
    }

    @Test(
        "Rejects names that could be paths, options or markup, and overlong or missing names",
        arguments: [
            (".dot", invalidCharacters), ("-dash.txt", invalidCharacters), ("sla%2Fsh.txt", invalidCharacters),
            ("%C3%BC.txt", invalidCharacters), ("semi;x.txt", invalidCharacters), ("a%00b.txt", invalidCharacters),
            ("pct%25.txt", invalidCharacters), ("%2e%2e", invalidCharacters), ("a%5Cb", invalidCharacters),
            ("..%2F..%2Fetc%2Fpasswd", invalidCharacters), ("a%22%3Cscript%3E", invalidCharacters),
            ("a%0Ab", invalidCharacters), (String(repeating: "x", count: 125) + ".txt", "Filename too long."),
            ("", "Filename not provided."),
        ])
    func refusedNames(name: String, text: String) async throws {
        try await Server.run { client in
            let answer = try await upload(client, name)
            #expect(answer.status == 400)
            #expect(answer.json == ["code": .number(122), "error": .string(text)])
        }
    }

    @Test("Rejects empty files")
    func empty() async throws {
        try await Server.run { client in
            for headers in [Server.master, Server.master.merging(["Content-Length": "0"]) { $1 }] {
                let answer = try await client.request("POST", "/parse/files/a.txt", headers: headers)
                #expect(answer.text == #"{"code":130,"error":"Invalid file upload."}"#)
            }
            let chunked = try await client.connect { connection in
                try await connection.send(
                    "POST /parse/files/a.txt HTTP/1.1\r\nHost: x\r\nX-Parse-Application-Id: app\r\n"
                        + "X-Parse-Master-Key: master\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
                return try await connection.receive()
            }
            #expect(chunked?.text == #"{"code":130,"error":"Invalid file upload."}"#)
        }
    }

    @Test("Accepts metadata and a folder in headers, and rejects invalid header values")
    func headerDetails() async throws {
        try await Server.run { client in
            var headers = Server.master
            headers["X-Parse-File-Metadata"] = #"{"a":1}"#
            headers["X-Parse-File-Directory"] = "one/two"
            let answer = try await upload(client, "a.txt", headers: headers)
            guard case .string(let name)? = answer.json["name"] else { return }
            #expect(name.hasPrefix("one/two/"))
            #expect(try await client.request("GET", "/parse/files/app/\(name)").text == "data")
            let metadata = try await client.request("GET", "/parse/files/app/metadata/\(name)")
            #expect(metadata.text == #"{"metadata":{"a":1}}"#)
            for (name, value, code) in [
                ("X-Parse-File-Metadata", "[]", 107), ("X-Parse-File-Tags", "{", 107),
                ("X-Parse-File-Tags", #"{"constructor":1}"#, 105), ("X-Parse-File-Directory", "a/../b", 122),
                ("X-Parse-File-Directory", "/a", 122), ("X-Parse-File-Directory", "a//b", 122),
                ("X-Parse-File-Directory", "metadata/a", 122), ("X-Parse-File-Directory", ".a", 122),
                ("X-Parse-File-Max-Upload-Size", "lots", 130),
            ] {
                let refused = try await upload(client, "a.txt", headers: Server.master.merging([name: value]) { $1 })
                #expect(refused.json["code"] == .number(Double(code)), "\(name): \(value)")
            }
        }
    }

    @Test("Rejects files over the size limit and leaves nothing behind")
    func tooLarge() async throws {
        let directory = Server.temporaryDirectory()
        try await Server.run(directory: directory) { client in
            let text = String(repeating: "a", count: 150_000)
            #expect(try await upload(client, "a.txt", text: text).status == 413)
            let stream = Server.master.merging(["X-Parse-Upload-Mode": "stream"]) { $1 }
            let streamed = try await upload(client, "a.txt", headers: stream, text: text)
            #expect(streamed.json["error"] == .string("File size exceeds maximum allowed: 100000 bytes."))
            let head = "POST /parse/files/a.txt HTTP/1.1\r\nHost: x\r\nX-Parse-Application-Id: app\r\n"
            let key = "X-Parse-Master-Key: master\r\n"
            let chunked = head + key + "Transfer-Encoding: chunked\r\n\r\n249f0\r\n\(text)\r\n0\r\n\r\n"
            let answer = try await client.connect { connection in
                try await connection.send(chunked)
                return try await connection.receive()
            }
            #expect(answer?.status == 413)
            let cutOff = head + key + "Content-Length: 90000\r\n\r\n\(text.prefix(40_000))"
            _ = try await client.connect { connection in
                try await connection.send(cutOff)
                connection.finish()
                return try await connection.receive()
            }
            let larger = Server.master.merging(["X-Parse-File-Max-Upload-Size": "200kb"]) { $1 }
            #expect(try await upload(client, "a.txt", headers: larger, text: text).status == 201)
            #expect(try Self.entries(of: directory).count == 1)
        }
    }

    private static func entries(of directory: String) throws -> [String] {
        let url = URL(fileURLWithPath: directory)
        return try FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: [.isRegularFileKey])
            .filter { try $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true }
            .map(\.lastPathComponent)
    }
}
