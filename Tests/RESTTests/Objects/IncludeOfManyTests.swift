import JSON
import TestSupport
import Testing

/// Includes with more rows than fit in one chunk. Some of the included objects are missing.
@Suite struct IncludeOfManyTests {
    /// An artist, three albums and 150 tracks. One album has that artist, another has a deleted artist. Every fifth
    /// track has a deleted album.
    private static func fill(_ server: TestServer) async throws {
        _ = try await server.create("Artist", ["name": "x"])
        _ = try await server.create("Album", ["artist": .pointer("Artist", "a1"), "title": "x"])
        _ = try await server.create("Track", ["album": .pointer("Album", "b1"), "albums": [], "n": -1])
        try await server.execute(
            """
            DELETE FROM "Artist"; DELETE FROM "Album"; DELETE FROM "Track";
            INSERT INTO "Artist" ("objectId", "createdAt", "updatedAt", _rperm, _wperm, name)
            VALUES ('a1', now(), now(), '{*}', '{*}', 'Nina');
            INSERT INTO "Album" ("objectId", "createdAt", "updatedAt", _rperm, _wperm, title, artist)
            SELECT 'b' || i, now(), now(), '{*}', '{*}', 'Album ' || i,
                CASE i WHEN 0 THEN 'a1' WHEN 1 THEN 'gone' END FROM generate_series(0, 2) AS i;
            INSERT INTO "Track" ("objectId", "createdAt", "updatedAt", _rperm, _wperm, n, album, albums)
            SELECT 't' || i, now(), now(), '{*}', '{*}', i, CASE i % 5 WHEN 0 THEN 'gone' ELSE 'b' || i % 3 END,
                jsonb_build_array(
                    jsonb_build_object('__type', 'Pointer', 'className', 'Album', 'objectId', 'b' || i % 3),
                    jsonb_build_object('__type', 'Pointer', 'className', 'Album', 'objectId', 'gone'))
            FROM generate_series(0, 149) AS i
            """)
    }

    @Test("Includes an object everywhere it is referenced and omits missing objects")
    func everyPlace() async throws {
        try await TestServer.run { server in
            try await Self.fill(server)
            let answer = try await server.find(
                "Track", ["include": "album.artist,albums.artist", "order": "n", "limit": 1000])
            #expect(answer.results.count == 150)
            for (number, track) in answer.results.enumerated() {
                let listed = track["albums"]?.arrayValue ?? []
                #expect(listed.count == 1, "\(number)")
                let albums = (number % 5 == 0 ? [] : [track["album"]]) + listed
                if number % 5 == 0 { #expect(track["album"] == nil, "\(number)") }
                for album in albums {
                    #expect(album?["title"]?.stringValue == "Album \(number % 3)", "\(number)")
                    #expect(album?["artist"]?["name"]?.stringValue == (number % 3 == 0 ? "Nina" : nil), "\(number)")
                    #expect(album?["artist"] == nil || number % 3 == 0, "\(number)")
                }
            }
        }
    }

    @Test("Missing objects on one include path don't affect nested objects on another")
    func missing() async throws {
        try await TestServer.run { server in
            try await Self.fill(server)
            try await server.execute(
                #"UPDATE "Album" SET artist = 'a1'; UPDATE "Track" SET album = 'b0' WHERE album = 'gone'"#)
            let answer = try await server.find("Track", ["include": "album,album.artist,albums", "limit": 1000])
            #expect(answer.results.allSatisfy { $0["album"]?["artist"]?["name"] == "Nina" })
            #expect(answer.results.allSatisfy { $0["albums"]?.arrayValue?.count == 1 })
        }
    }
}
