import JSON
import TestSupport
import Testing

/// The Spotify clone: saved songs and playlists.
@Suite struct SpotifyCloneTests {
    private static func song(_ name: String, _ artist: String, _ album: String) -> JSONObject {
        ["name": .string(name), "artist": .string(artist), "album": .string(album), "albumCover": "https://x/c.jpg"]
    }

    @Test("A user finds the same songs and playlists after every log-in")
    func library() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let songs = try await kim.saveAll("Song", [Self.song("One", "A", "X"), Self.song("Two", "B", "Y")])
            _ = try await kim.create("Playlist", ["user": kim.user, "name": "Mine", "songs": .array(songs)])
            _ = try await kim.logOut()

            for _ in 0..<2 {
                let again = try await IOSClient(server).logIn("kim")
                let lists = try await again.find("Playlist", where: ["user": again.user])
                #expect(lists.map { $0["name"] } == ["Mine"])
                #expect(same(lists.first?["songs"], .array(songs)))
            }
        }
    }

    @Test("Includes the songs of a playlist in their order")
    func detail() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let songs = try await kim.saveAll(
                "Song", [Self.song("One", "A", "X"), Self.song("Two", "B", "Y"), Self.song("Three", "C", "Z")])
            let order = [songs[2], songs[0], songs[1]]
            let list = try await kim.create("Playlist", ["user": kim.user, "name": "Mine", "songs": .array(order)])
            let found = try await kim.find(
                "Playlist", where: ["objectId": .string(list.objectID ?? "")], include: "songs", limit: 1)
            #expect(found.first?["songs"]?.arrayValue?.map { $0["name"] } == ["Three", "One", "Two"])
        }
    }

    @Test("Leaves deleted songs out of an included array")
    func deletedSong() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let songs = try await kim.saveAll("Song", [Self.song("One", "A", "X"), Self.song("Two", "B", "Y")])
            _ = try await kim.create("Playlist", ["user": kim.user, "name": "Mine", "songs": .array(songs)])
            _ = try await kim.delete(songs[0]).succeeded()
            let found = try await kim.find("Playlist", where: ["user": kim.user], include: "songs")
            #expect(found.first?["songs"]?.arrayValue?.map { $0["name"] } == ["Two"])
        }
    }

    @Test("Searches songs by title, artist or album")
    func search() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            _ = try await kim.saveAll(
                "Song",
                [
                    Self.song("Blue Monday", "New Order", "Substance"), Self.song("Hello", "Blue Band", "First"),
                    Self.song("Hey", "Pixies", "Blue"), Self.song("None", "None", "None"),
                ])
            let pattern: JSONValue = ["$regex": "blue", "$options": "i"]
            let found = try await kim.find(
                "Song", where: ["$or": [["name": pattern], ["artist": pattern], ["album": pattern]]], order: "name")
            #expect(found.map { $0["name"] } == ["Blue Monday", "Hello", "Hey"])
        }
    }

    @Test("A query with keys returns only those fields, the id and the dates")
    func keys() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            _ = try await kim.create("Song", Self.song("One", "A", "X"))
            let song = try #require(try await kim.find("Song", keys: "artist,name").first)
            #expect(song["name"] == "One")
            #expect(song["album"] == nil)
            #expect(song["objectId"] != nil)
            #expect(song["createdAt"] != nil)
            #expect(song["updatedAt"] != nil)
        }
    }

    @Test("A batch returns the results in request order, even if one request fails")
    func batchWithAnError() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let song = try await kim.create("Song", ["name": "One"])
            let answers = try await kim.batch([
                ["method": "POST", "path": kim.batchPath("/classes/Song"), "body": ["name": "Two"]],
                ["method": "PUT", "path": kim.batchPath("/classes/Song/missing"), "body": ["name": "Three"]],
                [
                    "method": "PUT", "path": kim.batchPath("/classes/Song/\(song.objectID ?? "")"),
                    "body": ["name": "Four"],
                ],
            ])
            #expect(answers[0]["success"]?["objectId"] != nil)
            #expect(answers[1]["error"]?["code"] == 101)
            #expect(answers[2]["success"]?["updatedAt"] != nil)
        }
    }
}
