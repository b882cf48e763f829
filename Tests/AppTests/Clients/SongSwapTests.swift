import JSON
import TestSupport
import Testing

/// SongSwap: a feed of songs posted by friends.
@Suite struct SongSwapTests {
    private static func post(_ client: IOSClient, _ song: String, day: Int) async throws -> JSONValue {
        try await client.create(
            "Posts",
            [
                "user": client.user, "song": .string(song), "caption": .string("about \(song)"),
                "time": .date("2024-05-0\(day)T10:00:00.000Z"),
            ])
    }

    @Test("Lists a user's posts and a post's comments newest first")
    func postsAndComments() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let lou = try await IOSClient(server).signUp("lou")
            let late = try await Self.post(kim, "late", day: 3)
            let early = try await Self.post(kim, "early", day: 1)
            _ = try await Self.post(lou, "other", day: 2)
            let posts = try await kim.find("Posts", where: ["user": kim.user], order: "-time")
            #expect(posts.map(\.objectID) == [late.objectID, early.objectID])

            for (day, text) in [(2, "second"), (1, "first"), (3, "third")] {
                let time = JSONValue.date("2024-06-0\(day)T10:00:00.000Z")
                _ = try await lou.create(
                    "Comments", ["post": late, "user": lou.user, "text": .string(text), "time": time])
            }
            let comments = try await kim.find("Comments", where: ["post": late], order: "-time", include: "user")
            #expect(comments.map { $0["text"] } == ["third", "second", "first"])
            #expect(comments.first?["user"]?["username"] == "lou")
            #expect(same(comments.first?["time"], .date("2024-06-03T10:00:00.000Z")))
        }
    }

    @Test("Finds who follows a user and whom a user follows")
    func followers() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let lou = try await IOSClient(server).signUp("lou")
            _ = try await kim.create("Followers", ["following": kim.user, "followed": lou.user])
            #expect(try await lou.find("Followers", where: ["followed": lou.user]).count == 1)
            #expect(try await kim.find("Followers", where: ["following": kim.user]).count == 1)
            #expect(try await kim.find("Followers", where: ["followed": kim.user]).isEmpty)
        }
    }

    @Test("Comparing a missing field with a pointer succeeds without results")
    func pointerInUnknownField() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let post = try await Self.post(kim, "one", day: 1)
            _ = try await kim.create("Likes", ["user": kim.user, "post": post])
            let likes = try await kim.find("Likes", where: ["user": kim.user])
            let liked = try #require(likes.first?["post"])
            #expect(same(liked, post))
            #expect(try await kim.find("Posts", where: ["id": liked]).isEmpty)
        }
    }

    @Test("The feed lists the posts of followed users, newest first, and which of them the user likes")
    func feed() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let lou = try await IOSClient(server).signUp("lou")
            let max = try await IOSClient(server).signUp("max")
            let stranger = try await IOSClient(server).signUp("stranger")
            let first = try await Self.post(lou, "lou", day: 1)
            let second = try await Self.post(max, "max", day: 2)
            _ = try await Self.post(stranger, "stranger", day: 3)
            for friend in [lou, max] {
                _ = try await kim.create("Followers", ["following": kim.user, "followed": friend.user])
            }
            _ = try await kim.create("Likes", ["user": kim.user, "post": first])
            let expected = [second.objectID, first.objectID]

            let byList = try await kim.find(
                "Posts", where: ["user": ["$in": .array([lou.user, max.user])]], order: "-time")
            #expect(byList.map(\.objectID) == expected)
            let users: JSONValue = ["className": "_User", "where": ["username": ["$in": ["lou", "max"]]]]
            let byQuery = try await kim.find("Posts", where: ["user": ["$inQuery": users]], order: "-time")
            #expect(byQuery.map(\.objectID) == expected)
            let followed: JSONValue = [
                "key": "followed", "query": ["className": "Followers", "where": ["following": kim.user]],
            ]
            let byKey = try await kim.find(
                "Posts", where: ["user": ["$select": followed]], order: "-time", include: "user")
            #expect(byKey.map(\.objectID) == expected)
            #expect(byKey.first?["user"]?["username"] == "max")

            let likes = try await kim.find(
                "Likes", where: ["user": kim.user, "post": ["$in": .array([first, second])]])
            #expect(likes.map { $0["post"]?.objectID } == [first.objectID])
        }
    }

    @Test("A subquery without a condition matches every object")
    func subqueryWithoutCondition() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            _ = try await Self.post(kim, "one", day: 1)
            let found = try await kim.find("Posts", where: ["user": ["$inQuery": ["className": "_User"]]])
            #expect(found.count == 1)
        }
    }

    @Test("Likes, counts and unlikes a post, and saves the user's email address")
    func likesAndSettings() async throws {
        try await withMusicServer { server in
            let kim = try await IOSClient(server).signUp("kim")
            let post = try await Self.post(kim, "one", day: 1)
            let like = try await kim.create("Likes", ["user": kim.user, "post": post])
            #expect(try await kim.count("Likes", where: ["post": post]) == 1)
            #expect(try await kim.deleteAll([like]) == [["success": [:]]])
            #expect(try await kim.count("Likes", where: ["post": post]) == 0)
            let answer = try await kim.updateUser(["email": "kim@example.com"])
            #expect(answer.status == 200)
            let me = try await kim.me().succeeded()
            #expect(me["email"] == "kim@example.com")
        }
    }
}
