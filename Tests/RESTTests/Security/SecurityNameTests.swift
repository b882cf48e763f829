import JSON
import TestSupport
import Testing

/// Advisories of class A for names of classes, objects and parameters.
@Suite struct SecurityNameTests {
    @Test("GHSA-c442-97qw-j6c6: invalid class names create no class and match nothing")
    func classNames() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            for name in SecurityProbe.names + ["Song\" --", "Song\"; DROP TABLE \"Song", "_Join:a'b:Song", "_SCHEMA"] {
                let path = "/classes/\(SecurityProbe.encoded(name))"
                let created = try await server.send("POST", path, ["a": 1])
                #expect(created.status >= 400, "\(name)")
                SecurityProbe.expectHarmless(created, "create \(name)")
                let found = try await server.send("GET", path)
                SecurityProbe.expectHarmless(found, "find \(name)")
                #expect(found.results.isEmpty, "\(name)")
                let inner: JSONValue = ["$inQuery": ["className": .string(name), "where": [:]]]
                let nested = try await server.find("Song", ["where": ["title": inner]])
                SecurityProbe.expectHarmless(nested, "subquery \(name)")
                #expect(nested.results.isEmpty, "\(name)")
                let related: JSONValue = ["object": .pointer(name, "x"), "key": .string(name)]
                let members = try await server.find("Song", ["where": ["$relatedTo": related]])
                SecurityProbe.expectHarmless(members, "related \(name)")
                #expect(members.results.isEmpty, "\(name)")
                let schema = try await server.send(
                    "POST", "/schemas", ["className": .string(name), "fields": [:]], as: .master)
                #expect(schema.code == 103, "\(name): \(schema.text)")
                let aggregated = try await server.send(
                    "GET", "/aggregate/\(SecurityProbe.encoded(name))?distinct=title", as: .master)
                #expect(aggregated.status < 500, "\(name): \(aggregated.text)")
                #expect(aggregated.results.isEmpty, "\(name)")
            }
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("GHSA-c442-97qw-j6c6: the class name of a pointer never becomes SQL")
    func pointerTargets() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            for (index, name) in SecurityProbe.names.enumerated() {
                let field = "ref\(index)"
                let created = try await server.send(
                    "POST", "/classes/Link", .object([Name(field): .pointer(name, "x'); DROP TABLE \"Song\"; --")]))
                SecurityProbe.expectHarmless(created, "create \(name)")
                let select: JSONValue = [
                    "$select": ["query": ["className": "Link", "where": [:]], "key": .string(field)]
                ]
                let selected = try await server.find("Song", ["where": ["meta": select]])
                SecurityProbe.expectHarmless(selected, "select \(name)")
                #expect(selected.results.isEmpty, "\(name)")
                let included = try await server.find("Link", ["include": .string(field)])
                SecurityProbe.expectHarmless(included, "include \(name)")
            }
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("GHSA-6927-3vr9-fxf2: an object id never becomes SQL")
    func objectIds() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            let kim = try await server.signUp("kim")
            for name in SecurityProbe.names {
                let path = "/classes/Song/\(SecurityProbe.encoded(name))"
                for (method, body) in [("GET", nil), ("PUT", ["plays": 9]), ("DELETE", nil)] as [(String, JSONValue?)] {
                    let answer = try await server.send(method, path, body)
                    SecurityProbe.expectRefused(answer, 101, "\(method) \(name)")
                }
                for route in ["users", "sessions", "roles", "installations"] {
                    let path = "/\(route)/\(SecurityProbe.encoded(name))"
                    let answer = try await server.send("PUT", path, ["note": "x"], as: .session(kim.token))
                    #expect(answer.status >= 400, "\(path)")
                    SecurityProbe.expectHarmless(answer, path)
                }
                let token = try await server.send(
                    "GET", "/users/me", headers: ["X-Parse-Session-Token": "r:a'b\"\\;--"])
                #expect(token.code == 209)
            }
            try await SecurityProbe.expectSongs(server)
            #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).status == 200)
        }
    }

    @Test("GHSA-gqpp-xgvh-9h7h: config parameter and hook names never become SQL, and hook names are kept exactly")
    func administration() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            for name in SecurityProbe.names where !name.contains("$") {
                let changed = try await server.send(
                    "PUT", "/config", ["params": .object([Name(name): .string(name)])], as: .master)
                SecurityProbe.expectHarmless(changed, "config \(name)")
                let hook = try await server.send(
                    "POST", "/hooks/functions", ["functionName": .string(name), "url": "https://hooks.example/'"],
                    as: .master)
                SecurityProbe.expectHarmless(hook, "hook \(name)")
                let kept = try await server.send("GET", "/hooks/functions/\(SecurityProbe.encoded(name))", as: .master)
                if hook.status == 200 { #expect(kept["functionName"]?.stringValue == name, "\(kept.text)") }
            }
            #expect(try await server.send("GET", "/config").status == 200)
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("GHSA-c442-97qw-j6c6: names that share their first 63 bytes never share a table or column")
    func longNames() async throws {
        try await TestServer.run { server in
            let stem = String(repeating: "N", count: 63)
            _ = try await server.create(stem, ["text": "first"])
            let other = try await server.send("POST", "/classes/\(stem)X", ["text": "second"])
            SecurityProbe.expectRefused(other, 103, "class")
            let found = try await server.send("GET", "/classes/\(stem)X")
            #expect(found.results.isEmpty)
            #expect(try await server.find(stem).results.map { $0["text"] } == ["first"])
            let id = try await server.create("Long", [Name(stem): "first"])
            let field = try await server.send("PUT", "/classes/Long/\(id)", .object(["\(stem)X": "second"]))
            #expect(field.status == 400)
            SecurityProbe.expectHarmless(field, "field")
            #expect(try await server.send("GET", "/classes/Long/\(id)")[stem] == "first")
            #expect(try await server.find("Long", ["where": .object(["\(stem)X": "first"])]).results.isEmpty)
        }
    }

    @Test("GHSA-c442-97qw-j6c6: rejects NUL characters anywhere in a request")
    func nulCharacters() async throws {
        try await TestServer.run { server in
            let id = try await SecurityProbe.makeSongs(server)
            let requests: [(String, String, String)] = [
                ("POST", "/classes/Song", "{\"title\":\"a\\u0000b\"}"),
                ("PUT", "/classes/Song/\(id)", "{\"meta.a\\u0000b\":1}"),
                ("POST", "/classes/Song", "{\"_method\":\"GET\",\"where\":{\"title\":\"a\\u0000\"}}"),
                ("POST", "/classes/Song", "{\"_method\":\"GET\",\"order\":\"title\\u0000\"}"),
                ("POST", "/login", "{\"username\":\"a\\u0000\",\"password\":\"b\"}"),
                ("POST", "/users", "{\"username\":\"a\\u0000\",\"password\":\"b\"}"),
                ("GET", "/classes/Song/a%00b", ""), ("GET", "/classes/So%00ng", ""),
                ("GET", "/classes/Song?where=%7B%22title%22%3A%22a%5Cu0000%22%7D", ""),
                ("GET", "/classes/Song?order=a%00b", ""),
            ]
            for (method, path, body) in requests {
                let answer = try await server.send(
                    method, path, bytes: Array(body.utf8), headers: ["Content-Type": "application/json"])
                #expect((400..<500).contains(answer.status), "\(method) \(path) \(body): \(answer.text)")
            }
            try await SecurityProbe.expectSongs(server)
        }
    }
}
