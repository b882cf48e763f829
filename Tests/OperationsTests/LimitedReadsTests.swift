import JSON
import Operations
import ParseModel
import Testing

@Suite("What an operator with limits may ask")
struct LimitedReadsTests {
    private static let limits = OperatorLimits(classes: ["Song", "Album"], hidden: ["Song": ["plays"]])
    private static let classes: [Name: ClassSchema] = [
        "Song": ClassSchema(
            name: "Song",
            fields: [
                "title": Field(.string), "plays": Field(.number), "meta": Field(.object), "list": Field(.array),
                "album": Field(.pointer("Album")), "artist": Field(.pointer("Artist")), "place": Field(.geoPoint),
                "fans": Field(.relation("_User")),
            ]),
        "Album": ClassSchema(name: "Album", fields: ["name": Field(.string), "best": Field(.pointer("Song"))]),
        "Artist": ClassSchema(name: "Artist", fields: ["name": Field(.string)]),
    ]
    private static let reads = LimitedReads(limits) { classes[$0] }

    private static func refuses(_ parameters: JSONObject, of className: Name = "Song", isGet: Bool = false) -> Bool {
        (try? reads.check(parameters, of: className, isGet: isGet)) == nil
    }

    @Test(
        "What is known may be asked",
        arguments: [
            [:],
            [
                "where": [
                    "title": "a",
                    "$or": [["meta.bpm": ["$gt": 1]], ["createdAt": ["$lt": ["$relativeTime": "1 day ago"]]]],
                ]
            ],
            ["where": "{\"album\":{\"$inQuery\":{\"className\":\"Album\",\"where\":{\"name\":\"x\"}}}}"],
            ["where": ["title": ["$select": ["key": "name", "query": ["className": "Album", "where": [:]]]]]],
            ["where": ["artist": ["__type": "Pointer", "className": "Artist", "objectId": "a"]]],
            ["order": "-title,objectId", "limit": 5, "skip": 1, "count": 1],
            ["keys": "title,album.name,meta", "excludeKeys": ["list"], "include": "album,album.best"],
        ] as [JSONObject])
    func known(parameters: JSONObject) { #expect(!Self.refuses(parameters)) }

    @Test(
        "Hidden fields and other classes are in no part of a find",
        arguments: [
            ["where": ["plays": 1]], ["where": "{\"pl\\u0061ys\":{\"$gt\":1}}"], ["where": ["plays.x": 1]],
            ["where": ["other": 1]], ["where": ["$or": [["title": "a"], ["$and": [["$nor": [["plays": 1]]]]]]]],
            ["where": ["artist": ["$inQuery": ["className": "Artist", "where": [:]]]]],
            [
                "where": [
                    "album": [
                        "$notInQuery": [
                            "className": "Album",
                            "where": ["best": ["$inQuery": ["className": "Song", "where": ["plays": 1]]]],
                        ]
                    ]
                ]
            ],
            [
                "where": [
                    "album": ["$inQuery": ["className": "Album", "where": [:], "redirectClassNameForKey": "best"]]
                ]
            ],
            ["where": ["title": ["$select": ["key": "name", "query": ["className": "Artist", "where": [:]]]]]],
            ["where": ["title": ["$dontSelect": ["key": "plays", "query": ["className": "Song", "where": [:]]]]]],
            ["where": ["title": ["$select": ["key": "best.plays", "query": ["className": "Album", "where": [:]]]]]],
            ["where": ["album": ["$inQuery": ["className": "Song", "order": "plays", "limit": 1, "where": [:]]]]],
            [
                "where": [
                    "$relatedTo": [
                        "key": "songs", "object": ["__type": "Pointer", "className": "Artist", "objectId": "a"],
                    ]
                ]
            ],
            [
                "where": [
                    "$relatedTo": [
                        "key": "plays", "object": ["__type": "Pointer", "className": "Song", "objectId": "a"],
                    ]
                ]
            ],
            ["where": ["album.name": "x"]], ["where": ["_rperm": "x"]], ["where": ["_p_artist": "x"]],
            ["order": "plays"], ["order": ["title", "-plays"]], ["order": " title , +plays "], ["order": "album.name"],
            ["keys": "plays"], ["keys": ["plays"]], ["keys": "album.best.plays"], ["keys": "artist.name"],
            ["excludeKeys": "plays"], ["excludeKeys": "artist.name"],
            ["include": "artist"], ["include": ["album.best.artist"]], ["include": "list"], ["include": "meta"],
            ["include": "*"],
            ["includeAll": true], ["redirectClassNameForKey": "artist"], ["explain": true], ["hint": "plays_1"],
            ["distinct": "plays"], ["pipeline": []], ["subqueryReturn": 1], ["readPreference": "PRIMARY"],
        ] as [JSONObject])
    func unknown(parameters: JSONObject) { #expect(Self.refuses(parameters)) }

    @Test("Gets take less")
    func gets() {
        #expect(!Self.refuses(["keys": "title"], isGet: true))
        #expect(Self.refuses(["where": [:]], isGet: true))
        #expect(Self.refuses(["keys": "plays"], isGet: true))
        #expect(Self.refuses([:], of: "Artist", isGet: true))
        #expect(Self.refuses([:], of: "_Join:fans:Song"))
        #expect(Self.refuses([:], of: "_Hooks"))
    }

    @Test("Writes keep to known fields, and values to known classes")
    func writes() {
        let artist: JSONValue = ["__type": "Pointer", "className": "Artist", "objectId": "a"]
        let refused: [JSONObject] = [
            ["plays": 1], ["plays.x": 1], ["other": 1], ["_rperm": []], ["_method": "GET"], ["artist": artist],
            ["list": [artist]], ["meta": ["a": [["b": artist]]]], ["meta.x": artist],
            [
                "fans": [
                    "__op": "AddRelation", "objects": [["__type": "Pointer", "className": "_User", "objectId": "u"]],
                ]
            ],
            ["list": ["__op": "Batch", "ops": [["__op": "Add", "objects": [artist]]]]],
            ["artist": ["__type": "Object", "className": "Artist", "objectId": "a"]],
            ["fans": ["__type": "Relation", "className": "_User"]],
        ]
        for body in refused {
            #expect((try? Self.reads.check(writing: body, to: "Song")) == nil, "\(JSONValue.object(body).text)")
        }
        let known: [JSONObject] = [
            ["title": "a", "ACL": [:]], ["meta.bpm": ["__op": "Increment", "amount": 1]],
            ["album": ["__type": "Pointer", "className": "Album", "objectId": "a"], "artist": ["__op": "Delete"]],
        ]
        for body in known { #expect((try? Self.reads.check(writing: body, to: "Song")) != nil) }
    }

    @Test("Limits that do not say clearly what is hidden are refused")
    func malformed() throws {
        for limits: JSONObject in [
            ["classes": "Song"], ["classes": [1]], ["hidden": ["plays"]], ["hidden": ["Song": "plays"]],
            ["hidden": ["Song": ["objectId"]]], ["classes": [""]],
        ] {
            #expect((try? OperatorLimits(json: limits)) == nil)
        }
        #expect(try OperatorLimits(json: [:]).shows("Song"))
        #expect(try !OperatorLimits(json: ["classes": []]).shows("Song"))
        #expect(try !OperatorLimits(json: [:]).shows("_JobStatus"))
    }
}
