import JSON
import TestSupport
import Testing

@Suite struct FileTests {
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
