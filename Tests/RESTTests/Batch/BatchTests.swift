import JSON
import REST
import TestSupport
import Testing

@Suite struct BatchTests {
    private static func request(_ method: String, _ path: String, _ body: JSONValue? = nil) -> JSONValue {
        var request: JSONObject = ["method": .string(method), "path": .string("/parse" + path)]
        request["body"] = body
        return .object(request)
    }

    @Test("Returns results in the order of the requests, including errors")
    func order() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Note", ["n": 1])
            var requests = (0..<20).map { Self.request("POST", "/classes/Note", ["n": .number(Double($0))]) }
            requests.insert(Self.request("PUT", "/classes/Note/missing", ["n": 1]), at: 7)
            requests.append(Self.request("PUT", "/classes/Note/\(id)", ["n": .increment(4)]))
            requests.append(Self.request("DELETE", "/classes/Note/none"))
            let answer = try await server.send("POST", "/batch", ["requests": .array(requests)])
            #expect(answer.status == 200)
            let answers = try #require(answer.json.arrayValue)
            #expect(answers.count == requests.count)
            #expect(answers[7]["error"]?["code"] == 101)
            #expect(answers[21]["success"]?["n"] == 5)
            #expect(answers[22]["error"]?["code"] == 101)
            for index in 0..<7 {
                let stored = try #require(answers[index]["success"]?["objectId"]?.stringValue)
                let note = try await server.send("GET", "/classes/Note/\(stored)")
                #expect(note["n"] == .number(Double(index)))
            }
        }
    }

    @Test("Rejects the whole batch if a path has invalid escapes or NUL characters")
    func badEscapes() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Note", ["n": 1])
            for (path, text) in [
                ("/classes/%zz", "Failed to decode param '%zz'"),
                ("/classes/No%00te", "Failed to decode param 'No%00te'"),
                ("/classes/Note/%00", "Failed to decode param '%00'"),
                ("/classes/%ff%fe", "Failed to decode param '%ff%fe'"),
                ("/classes/Note/\(id)%", "Failed to decode param '\(id)%'"),
                ("/classes/Note?where=%00", "NUL characters are not allowed."),
                ("/classes/Note?order=a%00b", "NUL characters are not allowed."),
            ] {
                for isTransaction in [false, true] {
                    let requests: JSONValue = [
                        Self.request("PUT", "/classes/Note/\(id)", ["n": 2]), Self.request("GET", path),
                    ]
                    let answer = try await server.send(
                        "POST", "/batch", ["requests": requests, "transaction": .bool(isTransaction)])
                    #expect(answer.status == 400 && answer.code == 107 && answer.error == text, "\(answer.text)")
                }
            }
            #expect(try await server.send("GET", "/classes/Note/\(id)")["n"] == 1)
            let spaced = try await server.send("POST", "/batch", ["requests": [Self.request("GET", "/classes/N%6Fte")]])
            #expect(spaced.json.arrayValue?.first?["success"]?["results"]?.arrayValue?.count == 1, "\(spaced.text)")
        }
    }

    @Test("Returns 107 if requests isn't an array, and accepts an empty array")
    func malformed() async throws {
        try await TestServer.run { server in
            for body: JSONValue in [[:], ["requests": "x"], ["requests": ["a": 1]]] {
                let answer = try await server.send("POST", "/batch", body)
                #expect(answer.status == 400)
                #expect(answer.code == 107)
                #expect(answer.error == "requests must be an array")
            }
            let empty = try await server.send("POST", "/batch", ["requests": []])
            #expect(empty.status == 200)
            #expect(empty.json == [])
        }
    }

    @Test("Accepts lowercase methods with preset 9, but not with preset 8", arguments: [8, 9])
    func methods(preset: Int) async throws {
        try await TestServer.run(["preset": .number(Double(preset))]) { server in
            let call: JSONValue = ["method": "post", "path": "/parse/classes/Note", "body": ["n": 1]]
            let answer = try await server.send("POST", "/batch", ["requests": [call]])
            if preset == 9 {
                #expect(answer.json.arrayValue?.first?["success"]?["objectId"] != nil, "\(answer.text)")
            } else {
                #expect(answer.code == 107, "\(answer.text)")
            }
            let hidden: JSONValue = ["method": "get", "path": "/parse/schemas"]
            let refused = try await server.send("POST", "/batch", ["requests": [hidden]])
            #expect(!refused.text.contains("success"), "\(refused.text)")
        }
    }

    @Test("A transaction is stored entirely or not at all")
    func transaction() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Note", ["n": 1])
            let good = [
                Self.request("POST", "/classes/Note", ["n": 2]),
                Self.request("PUT", "/classes/Note/\(id)", ["n": .increment(1)]),
            ]
            let stored = try await server.send("POST", "/batch", ["requests": .array(good), "transaction": true])
            #expect(stored.status == 200)
            #expect(stored.json.arrayValue?.count == 2)
            #expect(try await server.find("Note").results.count == 2)
            for bad in [
                Self.request("PUT", "/classes/Note/missing", ["n": 1]),
                Self.request("POST", "/classes/Note", ["n": "text"]),
            ] {
                let failed = try await server.send(
                    "POST", "/batch", ["requests": .array(good + [bad]), "transaction": true])
                // A client would take a successful element for stored, although it was rolled back.
                #expect(failed.status >= 400, "\(failed.text)")
                #expect(try await server.find("Note").results.count == 2)
                #expect(try await server.send("GET", "/classes/Note/\(id)")["n"] == 2)
            }
        }
    }

    @Test("A transaction sees its own writes")
    func readingInside() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Note", ["n": 1])
            let increments = (0..<10).map { _ in Self.request("PUT", "/classes/Note/\(id)", ["n": .increment(1)]) }
            let answer = try await server.send(
                "POST", "/batch", ["requests": .array(increments), "transaction": true])
            #expect(answer.status == 200)
            let values = answer.json.arrayValue?.compactMap { $0["success"]?["n"]?.numberValue } ?? []
            #expect(values.sorted() == (2...11).map(Double.init))
        }
    }

    @Test("A batch has its caller's permissions")
    func permissions() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let requests = [
                Self.request("POST", "/classes/Note", ["ACL": .object([Name(kim.id): ["read": true, "write": true]])]),
                Self.request("PUT", "/users/\(kim.id)", ["age": 3]),
            ]
            let answer = try await server.send(
                "POST", "/batch", ["requests": .array(requests)], as: .session(kim.token))
            #expect(answer.json.arrayValue?.allSatisfy { $0["success"] != nil } == true)
            let anonymous = try await server.send("POST", "/batch", ["requests": .array(requests)])
            #expect(anonymous.json.arrayValue?.last?["error"]?["code"] == 206)
            #expect(try await server.find("Note").results.isEmpty)
        }
    }

    @Test("Stores new objects with different classes and fields in one batch, with their relations")
    func manyShapes() async throws {
        try await TestServer.run { server in
            let song = try await server.create("Song", ["name": "x"])
            let bodies: [JSONValue] = (0..<120).map { number in
                var body: JSONObject = ["n": .number(Double(number))]
                if number % 3 == 0 { body["text"] = .string("text \(number)") }
                if number % 7 == 0 { body["ACL"] = ["*": ["read": true]] }
                if number % 10 == 0 {
                    body["songs"] = [
                        "__op": "AddRelation",
                        "objects": [["__type": "Pointer", "className": "Song", "objectId": .string(song)]],
                    ]
                }
                return .object(body)
            }
            let requests = bodies.enumerated().map { index, body -> JSONValue in
                [
                    "method": "POST", "path": .string("/parse/classes/\(index % 40 < 30 ? "List" : "Other")"),
                    "body": body,
                ]
            }
            let answer = try await server.send("POST", "/batch", ["requests": .array(requests)])
            let ids = (answer.json.arrayValue ?? []).compactMap { $0["success"]?["objectId"]?.stringValue }
            #expect(Set(ids).count == 120)
            for (index, id) in ids.enumerated() {
                let stored = try await server.send(
                    "GET", "/classes/\(index % 40 < 30 ? "List" : "Other")/\(id)", as: .master)
                #expect(stored["n"] == .number(Double(index)))
                #expect(stored["text"]?.stringValue == (index % 3 == 0 ? "text \(index)" : nil))
                #expect((stored["ACL"] != nil) == (index % 7 == 0))
            }
            let related = try await server.find(
                "Song",
                [
                    "where": [
                        "$relatedTo": [
                            "object": ["__type": "Pointer", "className": "List", "objectId": .string(ids[0])],
                            "key": "songs",
                        ]
                    ]
                ])
            #expect(related.results.count == 1)
        }
    }

    @Test(
        "With mountPath /, accepts paths with and without publicServerURL's prefix, and PATCH for PUT",
        arguments: [7, 9])
    func mounts(preset: Double) async throws {
        let options: JSONObject = [
            "preset": .number(preset), "mountPath": "/", "publicServerURL": "http://pub.example/api",
            "allowClientClassCreation": true,
        ]
        try await TestServer.run(options) { server in
            let id = try await server.create("Song", ["plays": 0])
            var prefixes = ["/api", ""]
            if preset == 9 { prefixes += ["/parse", "/1"] }
            for (index, prefix) in prefixes.enumerated() {
                let call: JSONValue = [
                    "method": "PATCH", "path": .string("\(prefix)/classes/Song/\(id)"),
                    "body": ["plays": .number(Double(index + 1))],
                ]
                let batch = try await server.send("POST", "/batch", ["requests": [call]])
                #expect(batch.status == 200, "\(prefix): \(batch.text)")
                #expect(try await server.send("GET", "/classes/Song/\(id)")["plays"] == .number(Double(index + 1)))
            }
        }
    }
}
