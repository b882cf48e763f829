import JSON
import TestSupport
import Testing

@Suite("Aggregation lookups") struct AggregateLookupTests {
    /// Creates two albums, and songs that point to them, contain their names, or neither.
    private static func make(_ server: TestServer) async throws -> (albums: [String], songs: [String]) {
        var albums: [String] = []
        for (name, year) in [("First", 1999), ("Second", 2001)] {
            albums.append(try await server.create("Album", ["name": .string(name), "year": .number(Double(year))]))
        }
        var songs: [String] = []
        for (title, album, year) in [("a", 0, 2000), ("b", 1, 2000), ("c", 0, 1990)] {
            songs.append(
                try await server.create(
                    "Song",
                    [
                        "title": .string(title), "album": .pointer("Album", albums[album]),
                        "albumId": .string(albums[album]), "since": .number(Double(year)),
                    ]))
        }
        songs.append(try await server.create("Song", ["title": "d"]))
        return (albums, songs)
    }

    private static let byField: JSONObject = [
        "from": "Album", "localField": "albumId", "foreignField": "_id", "as": "found",
    ]

    private static func lookup(_ more: JSONObject, without: Name...) -> JSONValue {
        var stage = byField.merging(more) { $1 }
        for name in without { stage[name] = nil }
        return ["$lookup": .object(stage)]
    }

    private static let names: [JSONValue] = [["$sort": ["name": 1]], ["$project": ["_id": 0, "name": 1]]]

    private static let lookups: [(JSONValue, [[String]])] = [
        (lookup(["pipeline": .array(names)]), [["First"], ["Second"], ["First"], []]),
        (lookup(["pipeline": [["$match": ["year": ["$lt": 2000]]]]]), [["First"], [], ["First"], []]),
        (lookup(["pipeline": [["$match": ["name": "nobody"]]]]), [[], [], [], []]),
        (lookup(["pipeline": []]), [["First"], ["Second"], ["First"], []]),
        (
            lookup(["pipeline": .array(names)], without: "localField", "foreignField"),
            [["First", "Second"], ["First", "Second"], ["First", "Second"], ["First", "Second"]]
        ),
        (
            lookup(
                ["let": ["id": "$albumId"], "pipeline": [["$match": ["$expr": ["$eq": ["$_id", "$$id"]]]]]],
                without: "localField", "foreignField"), [["First"], ["Second"], ["First"], []]
        ),
        (
            lookup(
                [
                    "let": ["id": ["$substr": ["$_p_album", 6, -1]]],
                    "pipeline": [["$match": ["$expr": ["$eq": ["$objectId", "$$id"]]]]],
                ], without: "localField", "foreignField"), [["First"], ["Second"], ["First"], []]
        ),
        (
            lookup(["let": ["y": "$since"], "pipeline": [["$match": ["$expr": ["$lt": ["$year", "$$y"]]]]]]),
            [["First"], [], [], []]
        ),
        (
            lookup(
                [
                    "let": ["y": "$since"],
                    "pipeline": [
                        ["$match": ["$or": [["name": "nobody"], ["$expr": ["$gt": ["$year", "$$y"]]]]]],
                        ["$sort": ["name": 1]],
                    ],
                ], without: "localField", "foreignField"),
            [["Second"], ["Second"], ["First", "Second"], ["First", "Second"]]
        ),
        // By the pointer's stored text, from either class.
        (lookup(["localField": "album"]), [["First"], ["Second"], ["First"], []]),
        (lookup(["localField": "_p_album"]), [[], [], [], []]),
        (lookup(["from": "Nosuch", "pipeline": [["$match": ["a": 1]]]]), [[], [], [], []]),
        (lookup(["from": "Song", "localField": "album"]), [[], [], [], []]),
    ]

    @Test("A lookup's pipeline filters and shapes the matches, or replaces localField and foreignField")
    func pipelines() async throws {
        try await TestServer.run { server in
            _ = try await Self.make(server)
            for (stage, expected) in Self.lookups {
                let answer = try await Sales.aggregate(server, [["$sort": ["title": 1]], stage], "Song")
                #expect(answer.status == 200, "\(stage): \(answer.text)")
                let found = answer.results.map { row in
                    (row["found"]?.arrayValue ?? []).compactMap { $0["name"]?.stringValue }.sorted()
                }
                #expect(found == expected, "\(stage): \(answer.text)")
            }
        }
    }

    @Test("A lookup's stages see the found object, and nested lookups see outer variables")
    func inner() async throws {
        try await TestServer.run { server in
            let (albums, _) = try await Self.make(server)
            let others: JSONValue = Self.lookup(
                [
                    "from": "Song", "let": ["mine": "$$title"],
                    "pipeline": [
                        [
                            "$match": [
                                "$expr": [
                                    "$and": [
                                        ["$eq": ["$_p_album", ["$concat": ["Album$", "$$album"]]]],
                                        ["$ne": ["$title", "$$mine"]],
                                    ]
                                ]
                            ]
                        ],
                        ["$group": ["_id": .null, "titles": ["$push": "$title"], "n": ["$sum": 1]]],
                    ],
                    "as": "others",
                ], without: "localField", "foreignField")
            let outer = Self.lookup([
                "let": ["title": "$title", "album": "$albumId"], "pipeline": [others, ["$unwind": "$others"]],
            ])
            let answer = try await Sales.aggregate(
                server,
                [["$sort": ["title": 1]], outer, ["$unwind": "$found"], ["$project": ["_id": 0, "found": 1]]], "Song")
            #expect(answer.status == 200, "\(answer.text)")
            let titles = answer.results.map { $0["found"]?["others"]?["titles"] ?? .null }
            #expect(titles == [["c"], ["a"]], "\(answer.text)")
            #expect(answer.results.first?["found"]?["objectId"]?.stringValue == albums[0])
            // From the other class, by the pointer's stored text.
            let songs = try await Sales.aggregate(
                server,
                [
                    ["$sort": ["name": 1]], ["$addFields": ["raw": ["$concat": ["Album$", "$_id"]]]],
                    [
                        "$lookup": [
                            "from": "Song", "localField": "raw", "foreignField": "_p_album", "as": "songs",
                            "pipeline": [["$sort": ["title": -1]]],
                        ]
                    ],
                    ["$project": ["_id": 0, "titles": ["$map": ["input": "$songs", "as": "s", "in": "$$s.title"]]]],
                ], "Album")
            #expect(same(.array(songs.results), [["titles": ["c", "a"]], ["titles": ["b"]]]), "\(songs.text)")
        }
    }

    @Test("Lookups match missing and null values with each other, and arrays by any element")
    func listsAndNulls() async throws {
        try await TestServer.run { server in
            let places: [JSONObject] = [
                ["n": 0, "k": 1], ["n": 1, "k": .null], ["n": 2], ["n": 3, "t": ["a", "x"]], ["n": 4, "t": []],
                ["n": 5, "t": [.null]],
            ]
            for row in places { _ = try await server.create("Local", ["row": .object(row)]) }
            for row: JSONObject in [["k": 1], ["k": [1, 2]], [:], ["k": .null], ["k": []], ["k": "a"]] {
                _ = try await server.create("Foreign", ["o": .object(row), "m": .number(Double(row.count))])
            }
            for text: JSONObject in [["text": "a"], ["text": "b"], [:]] { _ = try await server.create("Text", text) }
            func found(_ local: String, _ from: String, _ foreign: String) async throws -> [Double] {
                let answer = try await Sales.aggregate(
                    server,
                    [
                        ["$sort": ["row.n": 1]],
                        [
                            "$lookup": [
                                "from": .string(from), "localField": .string(local), "foreignField": .string(foreign),
                                "as": "row.found",
                            ]
                        ],
                    ], "Local")
                #expect(answer.status == 200, "\(answer.text)")
                return answer.results.map { Double($0["row"]?["found"]?.arrayValue?.count ?? -1) }
            }
            #expect(try await found("row.k", "Foreign", "o.k") == [2, 2, 2, 2, 2, 2])
            #expect(try await found("row.t", "Foreign", "o.k") == [2, 2, 2, 1, 0, 2])
            #expect(try await found("row.t", "Text", "text") == [1, 1, 1, 1, 0, 1])
            #expect(try await found("row.t", "Text", "_id") == [0, 0, 0, 0, 0, 0])
            #expect(try await found("row.t", "Nosuch", "text") == [0, 0, 0, 0, 0, 0])
        }
    }

    @Test("Looked-up users and sessions contain no hashes, tokens or second factors")
    func hiddenColumns() async throws {
        try await TestServer.run { server in
            let signedUp = try await server.send(
                "POST", "/users", ["username": "ann", "password": "secret"], as: .master)
            let id = try #require(signedUp["objectId"]?.stringValue)
            _ = try await server.send("POST", "/login", ["username": "ann", "password": "secret"], as: .anonymous)
            try await server.execute(
                """
                UPDATE "_User" SET "authData" = '{"mfa": {"secret": "TOPSECRET"}, "other": {"id": "1"}}',
                "_email_verify_token" = 'TOPSECRET', "_perishable_token" = 'TOPSECRET'
                """)
            _ = try await server.create("Song", ["owner": .pointer("_User", id), "userId": .string(id)])
            let expressions: JSONValue = [
                "a": "$_hashed_password", "b": "$authData.mfa", "c": "$sessionToken", "d": "$_perishable_token",
                "e": "$_session_token", "f": "$password",
            ]
            let token = try #require(
                try await server.send("GET", "/sessions", as: .master).results.first?["sessionToken"]?.stringValue)
            for (from, foreign) in [("_User", "_id"), ("_Session", "user")] {
                for pipeline: JSONValue in [[], [["$addFields": expressions]], [["$project": expressions]]] {
                    let answer = try await Sales.aggregate(
                        server,
                        [
                            [
                                "$lookup": [
                                    "from": .string(from), "localField": "owner", "foreignField": .string(foreign),
                                    "pipeline": pipeline, "as": "found",
                                ]
                            ]
                        ], "Song")
                    let rows = answer.results.first?["found"]?.arrayValue ?? []
                    #expect(rows.count >= 1, "\(answer.text)")
                    for text in ["TOPSECRET", token, "$2", "hashed"] {
                        #expect(!answer.text.contains(text), "\(text): \(answer.text)")
                    }
                    if from == "_User", pipeline == [] {
                        #expect(same(rows.first?["authData"], ["other": ["id": "1"]]), "\(answer.text)")
                    }
                }
                let asked = try await Sales.aggregate(
                    server,
                    [
                        [
                            "$lookup": [
                                "from": .string(from), "localField": "owner", "foreignField": .string(foreign),
                                "as": "found",
                                "pipeline": [["$match": ["_perishable_token": "TOPSECRET"]]],
                            ]
                        ]
                    ], "Song")
                let rows = asked.results.first?["found"]?.arrayValue ?? []
                #expect(asked.code == 102 || rows.isEmpty, "\(asked.text)")
            }
        }
    }

    /// Rejected lookups, and the words that the error must contain.
    private static let refused: [(JSONValue, String)] = [
        (lookup(["invented": 1]), "invented"), (lookup([:], without: "as"), "as"),
        (lookup([:], without: "from"), "from"),
        (lookup(["from": 1]), "from"), (lookup(["from": ["db": "x", "coll": "y"]]), "from"),
        (lookup(["as": 1]), "as"), (lookup([:], without: "localField"), "localField"),
        (lookup([:], without: "foreignField"), "foreignField"),
        (lookup([:], without: "localField", "foreignField"), "pipeline"), (lookup(["pipeline": 1]), "pipeline"),
        (lookup(["pipeline": ["$match": [:]]]), "pipeline"), (lookup(["pipeline": [1]]), "one key"),
        (lookup(["pipeline": [["match": [:]]]]), "'match'"), (lookup(["pipeline": [["$nosuch": 1]]]), "$nosuch"),
        (lookup(["pipeline": [["$out": "X"]]]), "$out"), (lookup(["pipeline": [["$merge": "X"]]]), "$merge"),
        (lookup(["pipeline": [["$geoNear": [:]]]]), "$geoNear"), (lookup(["let": ["a": 1]]), "let"),
        (lookup(["let": 1, "pipeline": []]), "let"), (lookup(["let": ["A": 1], "pipeline": []]), "'A'"),
        (lookup(["let": ["_a": 1], "pipeline": []]), "'_a'"), (lookup(["let": ["$a": 1], "pipeline": []]), "'$a'"),
        (lookup(["let": ["a": "$$nosuch"], "pipeline": []]), "nosuch"),
        (lookup(["pipeline": [["$match": ["$expr": "$$n"]]]]), "Use of undefined variable: n"),
        (lookup(["from": "Nosuch", "pipeline": [["$nosuch": 1]]]), "$nosuch"),
        (lookup(["from": "_Hooks"]), "_Hooks"), (lookup(["from": "_SCHEMA"]), "_SCHEMA"),
        (lookup(["from": "_Join:users:_Role"]), "_Join:users:_Role"),
        (lookup(["pipeline": .array([JSONValue](repeating: ["$limit": 1], count: 100))]), "stages"),
        (lookup(["pipeline": [["$match": ["$or": [["$expr": ["$nosuch": 1]]]]]]]), "$nosuch"),
        (lookup(["as": "a b"]), "a b"), (lookup(["foreignField": "a b"]), "a b"),
        (lookup(["localField": "a b"]), "a b"),
    ]

    @Test("Rejects invalid options, variables and stages, names them, and limits nesting to 20 levels")
    func refusals() async throws {
        try await TestServer.run { server in
            _ = try await Self.make(server)
            for (stage, name) in Self.refused {
                let answer = try await Sales.aggregate(server, [stage], "Song")
                #expect(answer.status == 400 && [102, 105].contains(answer.code ?? 0), "\(stage): \(answer.text)")
                #expect(answer.json["error"]?.stringValue?.contains(name) == true, "\(stage): \(answer.text)")
            }
            // The maximum nesting depth, and one level more.
            for (depth, status) in [(20, 200), (21, 400)] {
                var stage = Self.lookup([:])
                for _ in 1..<depth { stage = Self.lookup(["pipeline": [["$limit": 1], stage]]) }
                let answer = try await Sales.aggregate(server, [["$limit": 1], stage], "Song")
                #expect(answer.status == status, "\(depth): \(answer.text)")
            }
        }
    }

    @Test("A pointer doesn't match an object of another class with the same id")
    func otherClass() async throws {
        try await TestServer.run { server in
            let (albums, _) = try await Self.make(server)
            _ = try await server.create("Label", ["name": "x", "of": .pointer("Album", albums[0])])
            try await server.execute("UPDATE \"Label\" SET \"objectId\" = '\(albums[0])'")
            let stages: [(from: String, local: String, foreign: String, count: Int)] = [
                ("Label", "album", "_id", 0), ("Label", "albumId", "_id", 2), ("Label", "album", "of", 2),
                ("Album", "album", "_id", 3),
            ]
            for (from, local, foreign, count) in stages {
                let stage = Self.lookup([
                    "from": .string(from), "localField": .string(local), "foreignField": .string(foreign),
                ])
                let answer = try await Sales.aggregate(server, [stage, ["$unwind": "$found"]], "Song")
                #expect(answer.results.count == count, "\(from) \(local) \(foreign): \(answer.text)")
            }
        }
    }
}
