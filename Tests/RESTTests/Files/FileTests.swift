import JSON
import TestSupport
import Testing

@Suite struct FileTests {
    @Test("An uploaded file gets a random prefix and can be downloaded by URL without credentials")
    func upload() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let answer = try await server.send(
                "POST", "/files/hello.txt", bytes: Array("hello".utf8), as: .session(kim.token),
                headers: ["Content-Type": "text/plain"])
            #expect(answer.status == 201)
            let name = try answer.string("name")
            #expect(name.hasSuffix("_hello.txt"))
            #expect(name.count == 32 + "_hello.txt".count)
            let url = try answer.string("url")
            #expect(answer.headers["location"] == url)
            let read = try await server.send("GET", url, as: .nobody)
            #expect(read.status == 200)
            #expect(read.text == "hello")
            #expect(read.headers["content-type"]?.hasPrefix("text/plain") == true)
            #expect(read.headers["content-length"] == "5")
            #expect(read.headers["x-content-type-options"] == "nosniff")
            let head = try await server.send("HEAD", url, as: .nobody)
            #expect(head.status == 200)
            #expect(head.bytes.isEmpty)
        }
    }

    @Test("File URLs are consistent and work for an application id with a space")
    func addresses() async throws {
        try await TestServer.run(["appId": "my app"]) { server in
            let headers = ["X-Parse-Application-Id": "my app"]
            let file = try await server.send(
                "POST", "/files/a.txt", bytes: Array("text".utf8), as: .master, headers: headers)
            let url = try file.string("url")
            let cover: JSONValue = ["__type": "File", "name": .string(try file.string("name"))]
            let song = try await server.send("POST", "/classes/Song", ["cover": cover], as: .master, headers: headers)
            let id = try song.string("objectId")
            let found = try await server.send("GET", "/classes/Song/\(id)", as: .master, headers: headers)
            #expect(found["cover"]?["url"]?.stringValue == url, "\(found.text)")
            #expect(url.contains("/files/my%20app/"))
            #expect(try await server.send("GET", url, as: .nobody).text == "text")
        }
    }

    @Test("Serves byte ranges with 206, and a range beyond the end with 416")
    func ranges() async throws {
        try await TestServer.run { server in
            let bytes = Array("0123456789".utf8)
            let file = try await server.send("POST", "/files/a.txt", bytes: bytes, as: .master)
            let url = try file.string("url")
            for (range, text, header) in [
                ("bytes=2-4", "234", "bytes 2-4/10"), ("bytes=7-", "789", "bytes 7-9/10"),
                ("bytes=-2", "89", "bytes 8-9/10"), ("bytes=8-99", "89", "bytes 8-9/10"),
            ] {
                let answer = try await server.send("GET", url, as: .nobody, headers: ["Range": range])
                #expect(answer.status == 206, "\(range)")
                #expect(answer.text == text, "\(range)")
                #expect(answer.headers["content-range"] == header, "\(range)")
            }
            let beyond = try await server.send("GET", url, as: .nobody, headers: ["Range": "bytes=10-"])
            #expect(beyond.status == 416)
        }
    }

    @Test("Rejects uploads without a session or by an anonymous user")
    func whoUploads() async throws {
        try await TestServer.run { server in
            let bytes = Array("x".utf8)
            let open = try await server.send("POST", "/files/a.txt", bytes: bytes)
            #expect(open.status == 400)
            #expect(open.code == 130)
            #expect(open.error == "File upload by public is disabled.")
            let token = try await server.send("POST", "/users", ["authData": ["anonymous": ["id": "a1"]]])
                .string("sessionToken")
            let anonymous = try await server.send("POST", "/files/a.txt", bytes: bytes, as: .session(token))
            #expect(anonymous.code == 130)
            #expect(anonymous.error == "File upload by anonymous user is disabled.")
        }
    }

    @Test("Returns 122 for invalid names, and 130 for empty bodies and files that a browser would run")
    func refusals() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let bytes = Array("x".utf8)
            for (name, code) in [
                ("a%3Cb.txt", 122), (String(repeating: "a", count: 129), 122), ("page.html", 130), ("page.HTM", 130),
                ("image.svg", 130), ("x.html.", 130),
            ] {
                let answer = try await server.send(
                    "POST", "/files/\(name)", bytes: bytes, as: .session(kim.token),
                    headers: ["Content-Type": "application/octet-stream"])
                #expect(answer.status == 400, "\(name)")
                #expect(answer.code == code, "\(name)")
            }
            let empty = try await server.send("POST", "/files/a.txt", as: .session(kim.token))
            #expect(empty.code == 130)
            #expect(empty.error == "Invalid file upload.")
        }
    }

    @Test("Only the master key can delete a file")
    func deletion() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let file = try await server.send(
                "POST", "/files/a.txt", bytes: Array("x".utf8), as: .session(kim.token))
            let name = try file.string("name")
            let refused = try await server.send("DELETE", "/files/\(name)", as: .session(kim.token))
            #expect(refused.status == 403)
            let deleted = try await server.send("DELETE", "/files/\(name)", as: .master)
            #expect(deleted.status == 200)
            #expect(try await server.send("GET", try file.string("url"), as: .nobody).status == 404)
            #expect(try await server.send("DELETE", "/files/\(name)", as: .master).code == 153)
        }
    }

    @Test("Objects store a file by name and return it with its URL")
    func inObjects() async throws {
        try await TestServer.run { server in
            let file = try await server.send("POST", "/files/a.txt", bytes: Array("x".utf8), as: .master)
            let name = try file.string("name")
            let id = try await server.create("Note", ["file": ["__type": "File", "name": .string(name)]])
            let note = try await server.send("GET", "/classes/Note/\(id)")
            #expect(note["file"]?["url"] == file["url"])
            #expect(note["file"]?["name"]?.stringValue == name)
            let found = try await server.find("Note", ["where": ["file": ["$exists": true]]])
            #expect(found.results.first?["file"]?["url"] == file["url"])
        }
    }

    @Test("Deletes the file by the name returned on upload, even in a folder named like the application id")
    func deletionInFolders() async throws {
        try await TestServer.run(["preserveFileName": true]) { server in
            let id = TestServer.applicationID
            for folder in [nil, id] {
                var headers = ["Content-Type": "text/plain"]
                headers["X-Parse-File-Directory"] = folder
                let name = try await server.send(
                    "POST", "/files/r.txt", bytes: Array("text".utf8), as: .master, headers: headers
                ).string("name")
                #expect(name == (folder.map { $0 + "/" } ?? "") + "r.txt")
            }
            #expect(try await server.send("DELETE", "/files/\(id)/r.txt", as: .master).status == 200)
            #expect(try await server.send("GET", "/files/\(id)/r.txt").status == 200)
            #expect(try await server.send("GET", "/files/\(id)/\(id)/r.txt").status == 404)
            // With the application id in the path, as in a file's URL.
            #expect(try await server.send("DELETE", "/files/\(id)/r.txt", as: .master).status == 200)
            #expect(try await server.send("GET", "/files/\(id)/r.txt").status == 404)
        }
    }
}
