import JSON
import TestSupport
import Testing

/// NotraMuse: a personal playlist.
@Suite struct NotraMuseTests {
    @Test("A session token works until log-out, and the next log-in creates another")
    func accounts() async throws {
        try await withMusicServer { server in
            let phone = IOSClient(server)
            let kim = try await phone.signUp("kim", ["description": "bass"])
            #expect(kim.sessionToken?.hasPrefix("r:") == true)

            let me = try await kim.me().succeeded()
            #expect(me["username"] == "kim")
            #expect(me["description"] == "bass")
            #expect(me["sessionToken"]?.stringValue == kim.sessionToken)
            #expect(me["password"] == nil)

            let out = try await kim.logOut()
            #expect(out.status == 200)
            #expect(out.json == [:])
            let after = try await kim.me()
            #expect(after.status == 400)
            #expect(after.code == 209)

            let again = try await phone.logIn("kim")
            #expect(again.userID == kim.userID)
            #expect(again.sessionToken != kim.sessionToken)
        }
    }

    @Test("Rejects a wrong password with 404 and code 101")
    func wrongPassword() async throws {
        try await withMusicServer { server in
            _ = try await IOSClient(server).signUp("kim")
            let answer = try await IOSClient(server).logInAnswer("kim", password: "wrong")
            #expect(answer.status == 404)
            #expect(answer.code == 101)
            #expect(answer.error == "Invalid username/password.")
        }
    }

    @Test("A query on the missing class User succeeds without results")
    func classNamedUser() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("SampleUser")
            let found = try await kim.find("User", where: ["Username": "SampleUser"])
            #expect(found.isEmpty)
        }
    }

    @Test("An owner finds saved tracks newest first, each with its picture")
    func tracks() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let lou = try await IOSClient(server).signUp("lou")
            let picture = try await kim.upload("image.png", onePixelPNG, type: "image/png")
            for title in ["First", "Second"] {
                _ = try await kim.create(
                    "Playlist",
                    ["user": kim.user, "title": .string(title), "artist": "A", "album": "B", "artist_pic": picture])
            }
            _ = try await lou.create("Playlist", ["user": lou.user, "title": "Other"])

            let found = try await kim.find("Playlist", where: ["user": kim.user], order: "-updatedAt")
            #expect(found.map { $0["title"] } == ["Second", "First"])
            #expect(same(found.first?["user"], kim.user))
            #expect(found.first?["artist_pic"]?["__type"] == "File")
            let image = try await kim.download(found.first?["artist_pic"])
            #expect(image.status == 200)
            #expect(image.bytes == onePixelPNG)
            #expect(image.headers["content-type"] == "image/png")
        }
    }

    @Test("Deletes a track; deleting it again fails with 404 and code 101")
    func deletion() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let track = try await kim.create("Playlist", ["user": kim.user, "title": "First"])
            let answer = try await kim.delete(track)
            #expect(answer.status == 200)
            #expect(answer.json == [:])
            let again = try await kim.delete(track)
            #expect(again.status == 404)
            #expect(again.code == 101)
            #expect(try await kim.find("Playlist", where: ["user": kim.user]).isEmpty)
        }
    }

    @Test("A track without an ACL is readable by all, but only its owner can change it")
    func ownership() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let lou = try await IOSClient(server).signUp("lou")
            let track = try await kim.create("Playlist", ["user": kim.user, "title": "First"])
            #expect(try await lou.fetch(track).status == 200)
            let written = try await lou.update(track, ["title": "Mine"])
            #expect(written.status == 404)
            #expect(written.code == 101)
            #expect(try await lou.delete(track).code == 101)
            #expect(try await kim.update(track, ["title": "Still mine"]).status == 200)
        }
    }

    @Test("Creates, fills, counts and renames a playlist")
    func playlists() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let songs = try await kim.saveAll(
                "Songs",
                [
                    ["name": "One", "track_no": 1, "release": .date("2024-05-01T00:00:00.000Z")],
                    ["name": "Two", "track_no": 2],
                ])
            let list = try await kim.create(
                "UserPlaylists", ["creator": kim.user, "name": "Mine", "songIds": .array([songs[0]])])
            let added = try await kim.update(list, ["songIds": .operation("AddUnique", songs)]).succeeded()
            #expect(same(added["songIds"], .array(songs)))
            let renamed = try await kim.update(list, ["name": "Ours"]).succeeded()
            #expect(renamed["updatedAt"]?.stringValue?.count == 24)
            #expect(renamed["name"] == nil)

            #expect(try await kim.count("UserPlaylists", where: ["creator": kim.user]) == 1)
            let found = try await kim.find("UserPlaylists", where: ["creator": kim.user], include: "songIds")
            #expect(found.first?["name"] == "Ours")
            let names = found.first?["songIds"]?.arrayValue?.map { $0["name"] }
            #expect(names == ["One", "Two"])
            #expect(found.first?["songIds"]?.arrayValue?.first?["__type"] == "Object")
        }
    }

    @Test("An album keeps its nested JSON and is included in the user's albums")
    func albums() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let tracks: JSONValue = ["items": [["no": 1, "name": "One"], ["no": 2, "name": "Two"]], "total": 2]
            let album = try await kim.create("Albums", ["name": "A", "artist": "B", "tracks": tracks])
            _ = try await kim.create("UserAlbums", ["creator": kim.user, "albumID": album])
            let found = try await kim.find("UserAlbums", where: ["creator": kim.user], include: "albumID")
            #expect(same(found.first?["albumID"]?["tracks"], tracks))
        }
    }

    @Test("A user edits its own name, description and picture")
    func profile() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let picture = try await kim.upload("profile.png", onePixelPNG, type: "image/png")
            let answer = try await kim.updateUser(["username": "kimba", "description": "drums", "image": picture])
            #expect(answer.status == 200)
            let me = try await kim.me().succeeded()
            #expect(me["username"] == "kimba")
            #expect(me["image"]?["name"] == picture["name"])
        }
    }
}
