import Foundation
import JSON
import Migration
import TestSupport
import Testing

/// Files that an import downloads from a running server, and their URLs.
@Suite struct LiveFileTests {
    private static func file(_ name: String, _ url: String) -> JSONValue {
        ["__type": "File", "name": .string(name), "url": .string(url)]
    }

    /// Lets a server respond like an old one with these objects in a class with two file fields. For each of the paths,
    /// it returns the path itself.
    private static func serve(_ objects: [JSONObject], _ paths: [String], on server: WebhookServer)
        -> LiveServer.Address
    {
        let fields: JSONValue = [
            "cover": ["type": "File"], "back": ["type": "File"], "extra": ["type": "Object"], "list": ["type": "Array"],
        ]
        let schemas: JSONValue = ["results": [["className": "Song", "fields": fields]]]
        server.on("schemas") { _ in .text(schemas.text) }
        let rows = objects.enumerated().map { place, fields -> JSONValue in
            var object = fields
            object["objectId"] = .string("s\(place)")
            object["createdAt"] = "2020-01-01T00:00:00.000Z"
            return .object(object)
        }
        let page: JSONValue = ["results": .array(rows)]
        // The second page is empty.
        server.on("classes/Song") { call in
            .text(call["where"]?["createdAt"]?["$exists"] == true ? page.text : "{\"results\":[]}")
        }
        for path in paths { server.on(path) { _ in .text(path) } }
        return LiveServer.Address(
            url: String(server.url("").dropLast()), applicationID: "a", masterKey: "m", maintenanceKey: "m")
    }

    @Test("Downloads a File field's file from its URL, and other files only from the old server or its storage")
    func addresses() async throws {
        try await WebhookServer.run { server in
            let (cover, listed) = (server.url("files/a/cover.txt"), server.url("files/a/listed.txt"))
            let (elsewhere, bucket) = (server.url("elsewhere"), server.url("bucket/b.txt"))
            let objects: [JSONObject] = [
                // The file also appears in an object field, before and after the file field.
                ["extra": ["deep": [Self.file("cover.txt", elsewhere)]]],
                ["extra": Self.file("cover.txt", listed), "cover": Self.file("cover.txt", cover)],
                ["list": [Self.file("cover.txt", elsewhere)], "back": Self.file("cover.txt", elsewhere)],
                // Files may be in a separate storage, whose URL the server returns.
                ["back": Self.file("bucket.txt", bucket)],
                ["list": [Self.file("listed.txt", elsewhere), Self.file("listed.txt", listed)]],
                ["list": [[Self.file("a b.txt", server.url("files/a/a%20b.txt"))]]],
                // Foreign files in the same storage have other names.
                ["list": [Self.file("b.txt", bucket), Self.file("c.txt", bucket)]],
                ["cover": Self.file("d.txt", server.url("bucket/d.txt"))],
                ["extra": Self.file("stray.txt", elsewhere), "list": [Self.file("stray.txt", elsewhere)]],
                ["extra": Self.file("up.txt", server.url("files/a/../../up.txt"))],
                ["extra": Self.file("other.txt", listed)],
                ["extra": Self.file("query.txt", server.url("files/a?b=/query.txt"))],
                ["extra": Self.file("host.txt", "http://127.0.0.1.example/files/a/host.txt")],
            ]
            let paths = [
                "files/a/cover.txt", "files/a/listed.txt", "files/a/a b.txt", "bucket/b.txt", "bucket/d.txt",
                "elsewhere",
            ]
            let address = Self.serve(objects, paths, on: server)
            try await ImportFolder.run { folder in
                // The second run reuses the downloaded classes.
                for _ in 0..<2 {
                    let notes = try await LiveServerTests.download(address, to: folder)
                    let left = notes.filter { $0.hasPrefix("the file ") }
                    #expect(left.count == 6, "\(left)")
                    for name in ["stray", "up", "other", "query", "host", "c"] {
                        #expect(left.contains { $0.contains("\"\(name).txt\" is skipped") }, "\(name): \(left)")
                    }
                    let files = FileManager.default
                    let names = try files.contentsOfDirectory(atPath: folder.path + "/live/files").sorted()
                    #expect(names == ["a%20b.txt", "b.txt", "bucket.txt", "cover.txt", "d.txt", "listed.txt"])
                    let expected = [paths[2], paths[3], paths[3], paths[0], paths[4], paths[1]]
                    for (name, path) in zip(names, expected) {
                        let data = files.contents(atPath: "\(folder.path)/live/files/\(name)") ?? Data()
                        #expect(String(decoding: data, as: UTF8.self) == path, "\(name)")
                    }
                    try files.removeItem(atPath: folder.path + "/live/roost-export.json")
                }
            }
            #expect(server.calls("elsewhere").isEmpty)
        }
    }

    @Test("Limits the notes about skipped files to 100 and shortens long names in them")
    func strays() async throws {
        try await WebhookServer.run { server in
            let elsewhere = server.url("elsewhere")
            let list = (0..<300).map { Self.file("f\($0 % 150).txt", elsewhere) }
            let long = Self.file(String(repeating: "x", count: 300), elsewhere)
            let address = Self.serve([["list": .array(list)], ["extra": long]], [], on: server)
            try await ImportFolder.run { folder in
                let notes = try await LiveServerTests.download(address, to: folder)
                let left = notes.filter { $0.hasPrefix("the file ") }
                #expect(left.count == 100 && Set(left).count == 100, "\(left.count)")
                #expect(notes.last?.hasPrefix("more files may be skipped") == true, "\(notes.last ?? "-")")
                #expect(notes.allSatisfy { $0.utf8.count < 300 })
            }
        }
    }
}
