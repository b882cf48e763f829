import FileStorage
import Foundation
import HTTP
import JSON
import NIOCore
import ParseStorage
import REST
import ServerConfiguration
import TestSupport
import Testing

@Suite("Downloading and deleting files")
struct FilesDownloadTests {
    private typealias Server = TransportServer

    private func withFile(
        _ name: String = "f.txt", _ text: String = "0123456789", details: FileDetails = FileDetails(),
        adjust: (inout Configuration) throws -> Void = { _ in }, body: (TransportClient) async throws -> Void
    ) async throws {
        let directory = Server.temporaryDirectory()
        try await DiskStorage(directory: directory).write(name: name, details: details, bytes: Array(text.utf8))
        try await Server.run(directory: directory, adjust: adjust, body: body)
    }

    @Test("Readers get an old or new version while a file is replaced, and no temporary files remain")
    func replaced() async throws {
        let directory = Server.temporaryDirectory()
        let store = DiskStorage(directory: directory)
        try await store.write(name: "f.txt", bytes: Array("old".utf8))
        try await Server.run(directory: directory) { client in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for text in ["one", "two"] {
                    group.addTask {
                        for _ in 0..<100 { try await store.write(name: "f.txt", bytes: Array(text.utf8)) }
                    }
                }
                for _ in 0..<2 {
                    group.addTask {
                        for _ in 0..<200 {
                            let answer = try await client.request("GET", "/parse/files/app/f.txt")
                            #expect(answer.status == 200 && ["old", "one", "two"].contains(answer.text))
                        }
                    }
                }
                try await group.waitForAll()
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(names.sorted() == [".metadata", "f.txt"])
        }
    }

    @Test("Serves files without credentials, with caching, range, CORS and nosniff headers")
    func whole() async throws {
        try await withFile { client in
            for method in ["GET", "HEAD"] {
                let answer = try await client.request(method, "/parse/files/app/f.txt")
                #expect(answer.status == 200)
                #expect(answer.text == (method == "GET" ? "0123456789" : ""))
                #expect(answer.header("Content-Type") == "text/plain; charset=utf-8")
                #expect(answer.header("Content-Length") == "10")
                #expect(answer.header("Accept-Ranges") == "bytes")
                #expect(answer.header("X-Content-Type-Options") == "nosniff")
                #expect(answer.header("Last-Modified")?.hasSuffix(" GMT") == true)
                #expect(answer.header("Cache-Control") == nil)
                #expect(answer.header("Access-Control-Allow-Origin") == "*")
                let tag = try #require(answer.header("ETag"))
                for (name, value) in [
                    ("If-None-Match", tag), ("If-None-Match", "*"),
                    ("If-Modified-Since", answer.header("Last-Modified") ?? ""),
                ] {
                    let unchanged = try await client.request(method, "/parse/files/app/f.txt", headers: [name: value])
                    #expect(unchanged.status == 304)
                    #expect(unchanged.header("ETag") == tag)
                }
            }
        }
    }

    @Test(
        "Serves single byte ranges, rejects unsatisfiable ranges and ignores other Range headers",
        arguments: [
            ("bytes=0-1", 206, "01", "bytes 0-1/10"), ("bytes=8-", 206, "89", "bytes 8-9/10"),
            ("bytes=-3", 206, "789", "bytes 7-9/10"), ("bytes=-100", 206, "0123456789", "bytes 0-9/10"),
            ("bytes=5-99999999999999999999", 206, "56789", "bytes 5-9/10"), ("BYTES=9-9", 206, "9", "bytes 9-9/10"),
            ("bytes=10-", 416, "", "bytes */10"), ("bytes=-0", 416, "", "bytes */10"),
            ("bytes=99999999999999999999-", 416, "", "bytes */10"),
            ("bytes=0-1,3-4", 200, "0123456789", nil), ("bytes=5-2", 200, "0123456789", nil),
            ("bytes=a-b", 200, "0123456789", nil), ("bytes=-", 200, "0123456789", nil),
            ("items=0-1", 200, "0123456789", nil), ("bytes", 200, "0123456789", nil),
            ("bytes=--1", 200, "0123456789", nil),
        ] as [(String, Int, String, String?)])
    func ranges(range: String, status: Int, text: String, contentRange: String?) async throws {
        try await withFile { client in
            let answer = try await client.request("GET", "/parse/files/app/f.txt", headers: ["Range": range])
            #expect(answer.status == status)
            #expect(answer.text == text)
            #expect(answer.header("Content-Range") == contentRange)
        }
    }

    @Test("Ignores the range if If-Range names another version")
    func ifRange() async throws {
        try await withFile { client in
            let path = "/parse/files/app/f.txt"
            let tag = try #require(try await client.request("HEAD", path).header("ETag"))
            for (version, status) in [(tag, 206), ("\"other\"", 200)] {
                let headers = ["Range": "bytes=0-1", "If-Range": version]
                #expect(try await client.request("GET", path, headers: headers).status == status)
            }
        }
    }

    @Test(
        "Shows only media, PDF and plain text inline, and forces a download of other file types",
        arguments: [
            ("a.html", false), ("a.svg", false), ("a.xhtml", false), ("a.js", false), ("a", false), ("a.xyz", false),
            ("a.zip", false), ("a.png", true), ("a.jpg", true), ("a.mp3", true), ("a.mp4", true), ("a.pdf", true),
            ("a.txt", true),
        ])
    func disposition(name: String, isInline: Bool) async throws {
        let stored = "0123456789abcdef0123456789abcdef_" + name
        try await withFile(stored) { client in
            let answer = try await client.request("GET", "/parse/files/app/\(stored)")
            #expect(answer.status == 200)
            #expect(
                answer.header("Content-Disposition") == (isInline ? nil : "attachment; filename*=UTF-8''\(name)"))
            #expect(answer.header("X-Content-Type-Options") == "nosniff")
        }
    }

    @Test(
        "Forces a download for content types that resemble media but could run scripts",
        arguments: [
            ("audio/foo+xml", false), ("video/x+xml", false), ("video/foo+html", false), ("image/x+xml", false),
            ("image/svg+xml", false), ("video/html", false), ("audio/", false), ("text/html", false),
            ("text/plain+xml", false), ("video/mp4", true), ("image/png", true), ("audio/mpeg", true),
        ])
    func dressedUpTypes(type: String, isInline: Bool) async throws {
        try await withFile("thing", details: FileDetails(contentType: type)) { client in
            let answer = try await client.request("GET", "/parse/files/app/thing")
            #expect(answer.status == 200)
            #expect((answer.header("Content-Disposition") == nil) == isInline)
            #expect(answer.header("X-Content-Type-Options") == "nosniff")
        }
    }

    @Test("Serves a file without an extension with the content type of its upload")
    func keptType() async throws {
        try await withFile("thing", details: FileDetails(contentType: "application/x-thing")) { client in
            let answer = try await client.request("GET", "/parse/files/app/thing")
            #expect(answer.header("Content-Type") == "application/x-thing")
        }
        try await withFile("thing") { client in
            let answer = try await client.request("GET", "/parse/files/app/thing")
            #expect(answer.header("Content-Type") == "application/octet-stream")
        }
    }

    @Test("Responds with 404 to unknown files and with 403 to other application ids", arguments: [true, false])
    func unknown(sanitizes: Bool) async throws {
        try await withFile {
            $0.enableSanitizedErrorResponse = sanitizes
        } body: { client in
            let missing = try await client.request("GET", "/parse/files/app/nosuch.txt")
            #expect(missing.status == 404)
            #expect(missing.text == "File not found.")
            #expect(missing.header("Content-Type") == "text/plain; charset=utf-8")
            let other = try await client.request("GET", "/parse/files/other/f.txt")
            #expect(other.status == 403)
            let text = sanitizes ? "Permission denied" : "Invalid application ID."
            #expect(other.json == ["code": .number(119), "error": .string(text)])
            #expect(try await client.request("GET", "/parse/files/app/metadata/nosuch.txt").text == "{}")
            #expect(try await client.request("GET", "/parse/files/app/a/b.txt").text == #"{"error":"unauthorized"}"#)
            #expect(try await client.request("GET", "/parse/files/app/%ZZ").status == 400)
        }
    }

    @Test(
        "No file name gives access to files outside the folder",
        arguments: [
            "..%2F..%2F..%2Fetc%2Fpasswd", "%2e%2e", "..", ".", "%2e", ".metadata", ".metadata%2Fsecret.txt",
            "..%2Fsecret.txt", "%2Fetc%2Fpasswd", "secret.txt%00", "..%5Csecret.txt", "....%2F%2Fsecret.txt",
            String(repeating: "a", count: 5000), "%F0%9F%98%80", "~root", "$(id)", "a%0Ab",
        ])
    func traversal(name: String) async throws {
        let parent = Server.temporaryDirectory()
        try await DiskStorage(directory: parent).write(name: "secret.txt", bytes: Array("secret".utf8))
        try await Server.run(directory: parent + "/inner") { client in
            _ = try await client.request("POST", "/parse/files/a.txt", headers: Server.master, text: "data")
            for path in ["/parse/files/app/\(name)", "/parse/files/app/metadata/\(name)"] {
                let answer = try await client.request("GET", path)
                #expect(answer.status < 500)
                #expect(!answer.text.contains("secret") && !answer.text.contains("root:"))
            }
            let deleted = try await client.request("DELETE", "/parse/files/\(name)", headers: Server.master)
            #expect((400..<500).contains(deleted.status))
        }
        #expect(try await DiskStorage(directory: parent).open(name: "secret.txt") != nil)
        try FileManager.default.removeItem(atPath: parent)
    }

    @Test("A download in progress isn't affected if the file is replaced or deleted", arguments: [true, false])
    func changedMeanwhile(isReplaced: Bool) async throws {
        let directory = Server.temporaryDirectory()
        let store = DiskStorage(directory: directory)
        var bytes = [UInt8](repeating: 7, count: 16_000_000)
        for index in stride(from: 0, to: bytes.count, by: 997) { bytes[index] = UInt8(truncatingIfNeeded: index / 997) }
        try await store.write(name: "large.bin", bytes: bytes)
        try await Server.run(directory: directory) { client in
            let part = 3_000_001..<9_000_003
            let range = "bytes=\(part.lowerBound)-\(part.upperBound - 1)"
            let answer = try await client.request("GET", "/parse/files/app/large.bin", headers: ["Range": range])
            #expect(answer.status == 206)
            let isPart = answer.body == Array(bytes[part])
            #expect(isPart)
            try await client.connect { connection in
                try await connection.send("GET /parse/files/app/large.bin HTTP/1.1\r\nHost: a\r\n\r\n")
                try await connection.awaitAnswer()
                if isReplaced {
                    try await store.write(name: "large.bin", bytes: Array("another".utf8))
                } else {
                    try await store.delete(name: "large.bin")
                }
                let isWhole = try await connection.receive()?.body == bytes
                #expect(isWhole)
            }
            let now = try await client.request("GET", "/parse/files/app/large.bin")
            #expect(now.text == (isReplaced ? "another" : "File not found."))
        }
    }

    @Test("Closes the connection promptly if a file is truncated during its download", arguments: [false, true])
    func cutShort(isConnectionFull: Bool) async throws {
        let directory = Server.temporaryDirectory()
        let bytes = [UInt8](repeating: 7, count: 16_000_000)
        try await DiskStorage(directory: directory).write(name: "large.bin", bytes: bytes)
        try await Server.run(directory: directory) { client in
            try await client.connect { connection in
                try await connection.send("GET /parse/files/app/large.bin HTTP/1.1\r\nHost: a\r\n\r\n")
                try await connection.awaitAnswer()
                // Enough time for the server to fill the connection's buffers.
                if isConnectionFull { try await Task.sleep(for: .seconds(1)) }
                #expect(truncate(directory + "/large.bin", 1000) == 0)
                let start = ContinuousClock.now
                let isAnswered = try await connection.receive() != nil
                #expect(!isAnswered)
                // Half of the time-out of a stalled connection.
                #expect(.now - start < .seconds(30))
            }
            let now = try await client.request("GET", "/parse/files/app/large.bin")
            #expect(now.body == Array(bytes.prefix(1000)))
        }
    }

    @Test("Pipes and folders in the file folder are not found")
    func notFiles() async throws {
        let directory = Server.temporaryDirectory()
        try await DiskStorage(directory: directory).prepare()
        #expect(mkfifo(directory + "/pipe.txt", 0o600) == 0)
        try FileManager.default.createDirectory(
            atPath: directory + "/folder.txt", withIntermediateDirectories: false)
        try await Server.run(directory: directory) { client in
            for name in ["pipe.txt", "folder.txt"] {
                let answer = try await client.request("GET", "/parse/files/app/\(name)")
                #expect(answer.status == 404)
            }
        }
    }

    @Test("Only the master key can delete a file, by name or by the path of its URL")
    func deletion() async throws {
        for path in ["/parse/files/f.txt", "/parse/files/app/f.txt"] {
            try await withFile { client in
                let readOnly = Server.application.merging(["X-Parse-Master-Key": "readonly"]) { $1 }
                for headers in [[:], Server.client, readOnly] {
                    #expect(try await client.request("DELETE", path, headers: headers).status == 403)
                }
                let deleted = try await client.request("DELETE", path, headers: Server.master)
                #expect(deleted.status == 200)
                #expect(try await client.request("GET", "/parse/files/app/f.txt").status == 404)
                let again = try await client.request("DELETE", path, headers: Server.master)
                #expect(again.json["code"] == .number(153))
            }
        }
    }

    @Test("Concurrent uploads and downloads of large files aren't mixed up")
    func large() async throws {
        try await Server.run {
            $0.maxUploadSize = 50_000_000
        } body: { client in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<4 {
                    group.addTask {
                        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* (number + 3) >> 3) }
                        let answer = try await client.request(
                            "POST", "/parse/files/a.bin", headers: Server.master, body: bytes)
                        guard case .string(let name)? = answer.json["name"] else {
                            Issue.record("not stored: \(answer.text)")
                            return
                        }
                        let whole = try await client.request("GET", "/parse/files/app/\(name)")
                        #expect(whole.body == bytes)
                        let part = try await client.request(
                            "GET", "/parse/files/app/\(name)", headers: ["Range": "bytes=1000000-1999999"])
                        #expect(part.body == Array(bytes[1_000_000..<2_000_000]))
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("Builds encoded file URLs, and those of files hosted by parse.com")
    func links() {
        let links = FileLinks(mountURL: "http://h/1", applicationID: "my app/ü")
        #expect(links.url("sp ace & ü.txt") == "http://h/1/files/my%20app%2F%C3%BC/sp%20ace%20%26%20%C3%BC.txt")
        #expect(links.url("a/b.txt") == "http://h/1/files/my%20app%2F%C3%BC/a/b.txt")
        #expect(links.url("tfss-1-a.png") == "http://h/1/files/my%20app%2F%C3%BC/tfss-1-a.png")
        let hosted = FileLinks(mountURL: "http://h", applicationID: "app", hostedKey: "key")
        #expect(hosted.url("tfss-1-a.png") == "http://files.parsetfss.com/key/tfss-1-a.png")
        let uuid = "11111111-2222-3333-4444-555555555555-a.png"
        #expect(hosted.url(uuid) == "http://files.parse.com/key/\(uuid)")
        #expect(hosted.url("a.png") == "http://h/files/app/a.png")
    }
}
