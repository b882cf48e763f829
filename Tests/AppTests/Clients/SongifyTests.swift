import JSON
import TestSupport
import Testing

/// Songify: artist pictures collected by users.
@Suite struct SongifyTests {
    @Test("Adds pictures of two classes, saved in batches, to the user's array")
    func collecting() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let first = try await kim.saveAll("ImageUrl", [["imageUrl": "https://x/1.png", "author": kim.user]])
            let added = try await kim.updateUser(["imageUrls": .operation("Add", first)]).succeeded()
            #expect(same(added["imageUrls"], .array(first)))
            let second = try await kim.saveAll("ArtistImage", [["imageUrl": "https://x/2.png", "author": kim.user]])
            let both = try await kim.updateUser(["imageUrls": .operation("Add", second)]).succeeded()
            #expect(same(both["imageUrls"], .array(first + second)))
            let me = try await kim.fetch(kim.user).succeeded()
            #expect(same(me["imageUrls"], .array(first + second)))
        }
    }

    @Test("Removes a picture from the user's array and deletes it")
    func removing() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let images = try await kim.saveAll(
                "ImageUrl", (1...3).map { ["imageUrl": .string("https://x/\($0).png"), "author": kim.user] })
            _ = try await kim.updateUser(["imageUrls": .operation("Add", images)]).succeeded()
            let removed = try await kim.updateUser(["imageUrls": .operation("Remove", [images[1]])]).succeeded()
            #expect(same(removed["imageUrls"], .array([images[0], images[2]])))
            #expect(try await kim.delete(images[1]).status == 200)
            #expect(try await kim.find("ImageUrl", where: ["author": kim.user]).count == 2)
        }
    }

    @Test("Reads a user's pictures page by page, each once")
    func scrolling() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let lou = try await IOSClient(server).signUp("lou")
            _ = try await kim.saveAll(
                "ImageUrl", (0..<50).map { ["imageUrl": .string("https://x/\($0).png"), "author": kim.user] })
            _ = try await lou.create("ImageUrl", ["imageUrl": "https://x/other.png", "author": lou.user])
            var seen: [String] = []
            for page in 0..<4 {
                let rows = try await kim.find(
                    "ImageUrl", where: ["author": kim.user], order: "-createdAt,objectId", limit: 20, skip: page * 20)
                seen += rows.compactMap(\.objectID)
            }
            #expect(seen.count == 50)
            #expect(Set(seen).count == 50)
        }
    }

    @Test("Searches pictures by a part of their URL, also case-insensitively")
    func searching() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            for name in ["Adele.png", "Abba.png", "Beck.png"] {
                _ = try await kim.create("ImageUrl", ["imageUrl": .string("https://x/" + name), "author": kim.user])
            }
            let contains = try await kim.find("ImageUrl", where: ["imageUrl": ["$regex": "\\Q/Adele.\\E"]])
            #expect(contains.count == 1)
            let either = try await kim.find("ImageUrl", where: ["imageUrl": ["$regex": "/ab|/BE", "$options": "i"]])
            #expect(either.count == 2)
        }
    }

    @Test("A query on a class without objects returns no results and a count of 0")
    func empty() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            #expect(try await kim.find("ImageUrl", where: ["author": kim.user]).isEmpty)
            #expect(try await kim.count("ImageUrl", where: ["author": kim.user]) == 0)
        }
    }
}
