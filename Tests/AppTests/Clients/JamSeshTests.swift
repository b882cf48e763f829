import JSON
import TestSupport
import Testing

/// JamSesh: listening sessions with chat.
@Suite struct JamSeshTests {
    @Test("Sessions are listed with their authors, newest first")
    func listing() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let lou = try await IOSClient(server).signUp("lou")
            let first = try await kim.create("MusicSession", ["author": kim.user, "users": .array([kim.user])])
            let second = try await lou.create("MusicSession", ["author": lou.user, "users": .array([lou.user])])
            let found = try await kim.find("MusicSession", order: "-createdAt", include: "author")
            #expect(found.map(\.objectID) == [second.objectID, first.objectID])
            let author = try #require(found.first?["author"])
            #expect(author["__type"] == "Object")
            #expect(author["className"] == "_User")
            #expect(author["username"] == "lou")
            #expect(author["sessionToken"] == nil)
            #expect(author["authData"] == nil)
        }
    }

    @Test("A user who joins a public session twice is listed once, and can leave")
    func joining() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let lou = try await IOSClient(server).signUp("lou")
            let session = try await kim.create("MusicSession", ["author": kim.user, "users": .array([kim.user])])
            let join: JSONObject = ["users": .operation("AddUnique", [lou.user])]
            let joined = try await lou.update(session, join).succeeded()
            #expect(same(joined["users"], .array([kim.user, lou.user])))
            let twice = try await lou.update(session, join).succeeded()
            #expect(same(twice["users"], .array([kim.user, lou.user])))
            let left = try await lou.update(session, ["users": .operation("Remove", [lou.user])]).succeeded()
            #expect(same(left["users"], .array([kim.user])))
        }
    }

    @Test("Only invited users see a private session, and read access allows no changes")
    func privacy() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let lou = try await IOSClient(server).signUp("lou")
            let max = try await IOSClient(server).signUp("max")
            let invited: JSONObject = [
                Name(kim.userID): ["read": true, "write": true], Name(lou.userID): ["read": true],
            ]
            let session = try await kim.create(
                "MusicSession",
                ["author": kim.user, "users": .array([kim.user, lou.user]), "ACL": .object(invited)])
            #expect(try await lou.find("MusicSession").count == 1)
            #expect(try await max.find("MusicSession").isEmpty)
            let fetched = try await max.fetch(session)
            #expect(fetched.status == 404)
            #expect(fetched.code == 101)
            let written = try await lou.update(session, ["users": .operation("Remove", [lou.user])])
            #expect(written.status == 404)
            #expect(written.code == 101)
        }
    }

    @Test("Lists a session's messages oldest first with their authors")
    func messages() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let lou = try await IOSClient(server).signUp("lou")
            let session = try await kim.create("MusicSession", ["author": kim.user])
            for (client, text) in [(kim, "hi"), (lou, "hello"), (kim, "song?")] {
                _ = try await client.create(
                    "Messages", ["musicSession": session, "message": .string(text), "author": client.user])
            }
            let found = try await lou.find(
                "Messages", where: ["musicSession": session], order: "createdAt", include: "author")
            #expect(found.map { $0["message"] } == ["hi", "hello", "song?"])
            #expect(found.map { $0["author"]?["username"] } == ["kim", "lou", "kim"])
        }
    }

    @Test("Includes follow arrays of pointers: messages.author and playlist.songs")
    func deepIncludes() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let songs = try await kim.saveAll(
                "Songs", [["songName": "One", "timeLength": 182.5], ["songName": "Two"]])
            let playlist = try await kim.create(
                "Playlists", ["author": kim.user, "songs": .array(songs), "playlistName": "P"])
            let session = try await kim.create("MusicSession", ["author": kim.user, "playlist": playlist])
            let message = try await kim.create(
                "Messages", ["musicSession": session, "message": "hi", "author": kim.user])
            _ = try await kim.update(session, ["messages": .operation("Add", [message])]).succeeded()
            let found = try await kim.find(
                "MusicSession", where: ["objectId": .string(session.objectID ?? "")],
                include: "author,messages.author,playlist.songs")
            let messages = found.first?["messages"]?.arrayValue
            #expect(messages?.first?["message"] == "hi")
            #expect(messages?.first?["author"]?["username"] == "kim")
            #expect(found.first?["playlist"]?["playlistName"] == "P")
            #expect(found.first?["playlist"]?["songs"]?.arrayValue?.map { $0["songName"] } == ["One", "Two"])
            #expect(found.first?["playlist"]?["songs"]?.arrayValue?.first?["timeLength"] == 182.5)
        }
    }

    @Test("A user follows and unfollows another, but can't change the other's follower count")
    func following() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim", ["followersCount": 0, "followingCount": 0])
            let lou = try await IOSClient(server).signUp("lou", ["followersCount": 0, "followingCount": 0])
            let followed = try await kim.updateUser([
                "following": .operation("AddUnique", [lou.user]), "followingCount": .increment(1),
            ]).succeeded()
            #expect(same(followed["following"], .array([lou.user])))
            #expect(followed["followingCount"] == 1)
            let foreign = try await kim.update(lou.user, ["followersCount": .increment(1)])
            #expect(foreign.status == 400)
            #expect(foreign.code == 206)
            let unfollowed = try await kim.updateUser([
                "following": .operation("Remove", [lou.user]), "followingCount": .increment(-1),
            ]).succeeded()
            #expect(unfollowed["following"] == [])
            #expect(unfollowed["followingCount"] == 0)
        }
    }

    @Test("Searches users by prefix, by substring and case-insensitively, hiding their email addresses")
    func userSearch() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kimberly", ["email": "kim@example.com"])
            _ = try await IOSClient(server).signUp("Kimono", ["email": "ono@example.com"])
            _ = try await IOSClient(server).signUp("joakim")
            func names(_ condition: JSONValue) async throws -> Set<String> {
                let found = try await kim.find("_User", where: ["username": condition], order: "username")
                return Set(found.compactMap { $0["username"]?.stringValue })
            }
            #expect(try await names(["$regex": "^\\Qkim\\E"]) == ["kimberly"])
            #expect(try await names(["$regex": "\\Qkim\\E"]) == ["joakim", "kimberly"])
            #expect(try await names(["$regex": "kim", "$options": "i"]) == ["Kimono", "joakim", "kimberly"])
            #expect(try await names(["$regex": "(?i)^kim"]) == ["Kimono", "kimberly"])
            let others = try await kim.find("_User", where: ["username": "Kimono"])
            #expect(others.first?["email"] == nil)
            #expect(others.first?["password"] == nil)
        }
    }

    @Test("Serves a byte range of a song with status 206")
    func ranges() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let audio = (0..<10_000).map { UInt8($0 % 251) }
            let file = try await kim.upload("song.mp3", audio, type: "audio/mpeg")
            let song = try await kim.create("Songs", ["song": file, "songName": "One", "timeLength": 10])
            let stored = try await kim.fetch(song).succeeded()
            let part = try await kim.download(stored["song"], range: "bytes=100-199")
            #expect(part.status == 206)
            #expect(part.bytes == Array(audio[100..<200]))
            #expect(part.headers["content-range"] == "bytes 100-199/10000")
            #expect(part.headers["accept-ranges"] == "bytes")
            let whole = try await kim.download(stored["song"])
            #expect(whole.bytes == audio)
            #expect(whole.headers["content-type"] == "audio/mpeg")
        }
    }
}
