import Foundation
import JSON
import TestSupport
import Testing

@Suite("Files and indexes in the console")
struct ConsoleUploadTests {
    private static func upload(_ server: TestServer, _ name: String, _ size: Int) async throws -> JSONValue {
        let answer = try await server.send(
            "POST", "/files/\(name)", bytes: Array(repeating: 0x61, count: size), as: .master,
            headers: ["Content-Type": "text/plain"])
        try #require(answer.status == 201, "\(answer.text)")
        return ["__type": "File", "name": answer["name"] ?? .null, "url": answer["url"] ?? .null]
    }

    @Test(
        "Pages through files in every order, from both stores, without duplicates or gaps",
        arguments: [nil, "postgres"])
    func pages(store: String?) async throws {
        try await TestServer.run(store.map { ["filesAdapter": .string($0)] }) { server in
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            var names: Set<String> = []
            for number in 0..<23 {
                let file = try await Self.upload(server, "f\(number % 4).txt", 1 + number % 5)
                names.insert(file["name"]?.stringValue ?? "")
            }
            for sort in ["modified", "size", "name"] {
                var (found, after): ([JSONValue], String?) = ([], nil)
                repeat {
                    let cursor = after.map {
                        "&after=\($0.addingPercentEncoding(withAllowedCharacters: .alphanumerics)!)"
                    }
                    let page = try await viewer.send(
                        "GET", "/console/api/files?limit=5&sort=\(sort)\(cursor ?? "")")
                    #expect(page["total"] == 23 && page["isComplete"] == true, "\(page.text)")
                    found += page["files"]?.arrayValue ?? []
                    after = page["next"]?.stringValue
                } while after != nil
                #expect(found.count == 23 && Set(found.compactMap { $0["name"]?.stringValue }) == names)
                let sizes = found.compactMap { $0["size"]?.numberValue }
                if sort == "size" { #expect(sizes == sizes.sorted(by: >)) }
                let times = found.compactMap { $0["modified"]?.stringValue }
                if sort == "modified" { #expect(times == times.sorted(by: >)) }
            }
            let some = try await viewer.send("GET", "/console/api/files?text=f3.txt")
            #expect(
                some["total"] == 5
                    && some["files"]?.arrayValue?.first?["type"]?.stringValue?.hasPrefix("text/plain") == true)
            #expect(try await viewer.send("GET", "/console/api/files?sort=colour").status == 400)
            for limit in ["1e300", "-1e300", "1e19", "0", "-1", "x", "null"] {
                let page = try await viewer.send("GET", "/console/api/files?limit=\(limit)")
                #expect(page.status == 200, "\(limit)")
            }
        }
    }

    @Test("Editors can delete a file, viewers can't")
    func deleting() async throws {
        try await TestServer.run { server in
            let name = try await Self.upload(server, "cover.txt", 3)["name"]?.stringValue ?? ""
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            #expect(try await viewer.parse("DELETE", "/files/\(name)").status == 403)
            let editor = try await ConsoleBrowser.operatorBrowser(server, "editor")
            #expect(try await editor.parse("DELETE", "/files/\(name)").status == 200)
            #expect(try await viewer.send("GET", "/console/api/files")["total"] == 0)
        }
    }

    @Test("Lists a class's indexes with size, uniqueness, validity and origin")
    func indexes() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "one", "plays": 1])
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            for (fields, unique) in [(["title"], true), (["-plays"], false)] as [([JSONValue], Bool)] {
                let begun = try await owner.send(
                    "POST", "/console/api/indexes",
                    ["className": "Song", "fields": .array(fields), "unique": .bool(unique)])
                try #require(begun.status == 202, "\(begun.text)")
                var task = begun
                while task["state"] == "running" {
                    task = try await owner.send("GET", "/console/api/tasks/\(begun["id"]?.stringValue ?? "")?wait=20")
                }
                #expect(task["state"] == "done", "\(task.text)")
            }
            let twice = try await server.send("POST", "/classes/Song", ["title": "one"])
            #expect(twice["code"] == 137, "\(twice.text)")
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let listed = try await viewer.send("GET", "/console/api/indexes?className=Song")
            let indexes = listed["indexes"]?.arrayValue ?? []
            func index(_ name: String) -> JSONValue? { indexes.first { $0["name"]?.stringValue == name } }
            #expect(index("title_1")?["isUnique"] == true && index("title_1")?["isOwn"] == false, "\(listed.text)")
            #expect(index("plays_-1")?["isUnique"] == false && index("plays_-1")?["isValid"] == true, "\(listed.text)")
            #expect(indexes.contains { $0["isOwn"] == true && ($0["bytes"]?.numberValue ?? 0) > 0 }, "\(listed.text)")
            #expect(try await viewer.send("GET", "/console/api/indexes?className=Nowhere").status == 400)
        }
    }
}
