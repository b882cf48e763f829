import App
import Foundation
import JSON
import ParseStorage
import TestSupport
import Testing

/// `roost export --format mongo`: documents as parse-server stores them in MongoDB.
@Suite struct ExportMongoTests {
    private static func documents(_ file: String, _ folder: ExportFolder) throws -> [String: JSONValue] {
        let text = try String(contentsOfFile: "\(folder.path)/out/\(file)", encoding: .utf8)
        let list = try text.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
        return Dictionary(list.map { ($0["_id"]?.stringValue ?? $0["owningId"]?.stringValue ?? "", $0) }) { $1 }
    }

    private static func date(_ milliseconds: String) -> JSONValue {
        ["$date": ["$numberLong": .string(milliseconds)]]
    }

    @Test("Exports every type as parse-server stores it in MongoDB, in canonical extended JSON")
    func types() async throws {
        try await TestServer.run { server in
            let id = try await server.create(
                "Everything",
                [
                    "s": "text", "i": 5, "n": 0.5, "big": 12_345_678_901, "b": true,
                    "d": .date("1969-12-31T23:59:59.999Z"),
                    "f": ["__type": "File", "name": "a.png", "url": "http://x/a"],
                    "o": [
                        "at": .date("1970-01-01T00:00:00.001Z"), "p": .pointer("_User", "u"), "n": [1, .null, 2.5],
                        "y": ["__type": "Bytes", "base64": "AQID"],
                    ],
                    "l": [1, .pointer("_User", "u"), .date("1970-01-01T00:00:00.000Z")],
                    "y": ["__type": "Bytes", "base64": "AQID"],
                    "g": ["__type": "GeoPoint", "latitude": 52, "longitude": 13.4],
                    "q": ["__type": "Polygon", "coordinates": [[0, 1], [0, 10], [10, 10], [0, 1]]],
                    "p": .pointer("_User", "u"), "ACL": ["*": ["read": true], "u": ["read": true, "write": true]],
                ], as: .master)
            _ = try await server.send(
                "PUT", "/classes/Everything/\(id)", ["r": .operation("AddRelation", [.pointer("_User", "u")])],
                as: .master
            ).succeeded()
            let user = try await server.signUp("kim")
            try await server.execute(
                """
                UPDATE "_User" SET "authData" = '{"anonymous": {"id": "a"}}',
                    "_password_changed_at" = '1970-01-01T00:00:01Z';
                UPDATE "Everything" SET "createdAt" = '1970-01-01T00:00:02Z', "updatedAt" = '1970-01-01T00:00:03Z';
                """)
            try await ExportFolder.run(server.databaseURI) { folder in
                try await folder.export { $0.form = .mongo }
                let document = try #require(try Self.documents("Everything.json", folder)[id])
                let expected: JSONObject = [
                    "_id": .string(id), "_created_at": Self.date("2000"), "_updated_at": Self.date("3000"), "s": "text",
                    "i": ["$numberInt": "5"], "n": ["$numberDouble": "0.5"],
                    "big": ["$numberDouble": "12345678901.0"], "b": true, "d": Self.date("-1"), "f": "a.png",
                    "o": [
                        "at": Self.date("1"), "p": .pointer("_User", "u"),
                        "n": [["$numberInt": "1"], .null, ["$numberDouble": "2.5"]],
                        "y": ["$binary": ["base64": "AQID", "subType": "00"]],
                    ],
                    "l": [["$numberInt": "1"], .pointer("_User", "u"), Self.date("0")],
                    "y": ["$binary": ["base64": "AQID", "subType": "00"]],
                    "g": [["$numberDouble": "13.4"], ["$numberDouble": "52.0"]],
                    "q": [
                        "type": "Polygon",
                        "coordinates": [
                            [
                                [["$numberDouble": "1.0"], ["$numberDouble": "0.0"]],
                                [["$numberDouble": "10.0"], ["$numberDouble": "0.0"]],
                                [["$numberDouble": "10.0"], ["$numberDouble": "10.0"]],
                                [["$numberDouble": "1.0"], ["$numberDouble": "0.0"]],
                            ]
                        ],
                    ],
                    "_p_p": "_User$u", "_rperm": ["*", "u"], "_wperm": ["u"],
                    "_acl": ["*": ["r": true], "u": ["r": true, "w": true]],
                ]
                for (name, value) in expected {
                    #expect(same(document[name.text], value), "\(name): \(document.text)")
                }
                #expect(document.objectValue?.count == expected.count, "\(document.text)")
                #expect(
                    same(
                        try Self.documents("_Join:r:Everything.json", folder)[id],
                        ["owningId": .string(id), "relatedId": "u"]))
                let kim = try #require(try Self.documents("_User.json", folder)[user.id])
                #expect(kim["_auth_data_anonymous"] == ["id": "a"])
                #expect(kim["authData"] == nil)
                #expect(kim["_hashed_password"]?.stringValue?.hasPrefix("$2") == true)
                #expect(kim["_password_changed_at"] == Self.date("1000"))
                let session = try #require(try Self.documents("_Session.json", folder).values.first)
                #expect(session["_session_token"]?.stringValue == user.token)
                #expect(session["_p_user"]?.stringValue == "_User$\(user.id)")
            }
        }
    }

    @Test("Exports classes as documents of the _SCHEMA collection")
    func schema() async throws {
        try await TestServer.run { server in
            let made: JSONValue = [
                "className": "Song",
                "fields": [
                    "title": ["type": "String", "required": true, "defaultValue": "none"], "plays": ["type": "Number"],
                    "artist": ["type": "Pointer", "targetClass": "_User"],
                    "fans": ["type": "Relation", "targetClass": "_User"], "place": ["type": "GeoPoint"],
                ],
                "classLevelPermissions": ["find": ["*": true]], "indexes": ["byTitle": ["title": 1]],
            ]
            _ = try await server.send("POST", "/schemas", made, as: .master).succeeded()
            try await ExportFolder.run(server.databaseURI) { folder in
                try await folder.export { $0.form = .mongo }
                let classes = try Self.documents("_SCHEMA.json", folder)
                let song = try #require(classes["Song"])
                for (name, type) in [
                    ("objectId", "string"), ("createdAt", "date"), ("title", "string"), ("plays", "number"),
                    ("artist", "*_User"), ("fans", "relation<_User>"), ("place", "geopoint"),
                ] {
                    #expect(song[name]?.stringValue == type, "\(song.text)")
                }
                #expect(song["ACL"] == nil)
                #expect(song["_metadata"]?["class_permissions"]?["find"] == ["*": true])
                #expect(song["_metadata"]?["indexes"]?["byTitle"] == ["title": ["$numberInt": "1"]])
                #expect(song["_metadata"]?["fields_options"]?["title"] == ["required": true, "defaultValue": "none"])
                #expect(classes["_User"]?["password"] == nil)
                #expect(try folder.json("roost-export.json")["form"] == "mongo")
            }
        }
    }
}
