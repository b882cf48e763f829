import Foundation
import JSON
import TestSupport
import Testing

/// An iOS app with Facebook and Apple log-in, in the format of `PFFacebookUtils` and `PFAppleUtils`.
@Suite(.timeLimit(.minutes(10))) struct IOSSignInTests {
    /// Stands in for Facebook and Apple. Facebook's tokens are `token of <id>`.
    private static func run(
        preset: Int,
        _ body:
            @escaping @Sendable (TestServer, @escaping @Sendable (String) throws -> JSONObject) async throws
            -> Void
    ) async throws {
        let key = try IdentityKey("apple")
        let answer: IdentityStandIn.Answer = { request in
            switch request.host {
            case "appleid.apple.com": return .init(["keys": [try key.published]])
            case "graph.facebook.com" where request.path.contains("token%20of%20"):
                if request.path.hasPrefix("/app?") { return .init(["id": "4711"]) }
                let rest = request.path.split(separator: "token%20of%20").last ?? ""
                return .init(["id": .string(String(rest.prefix { $0 != "&" }))])
            default: return .init(["error": ["message": "Invalid OAuth access token."]], status: 400)
            }
        }
        try await IdentityStandIn.run(answer) { standIn in
            let options: JSONObject = [
                "preset": .number(Double(preset)), "classDefinitions": "music", "clientKey": "testClient",
                "auth": [
                    "facebook": ["appIds": ["4711"], "appSecret": "s3cret"], "apple": ["clientId": "com.example.music"],
                ],
            ]
            try await TestServer.run(standIn.options.merging(options) { $1 }) { server in
                try await body(server) { user in
                    let claims: JSONObject = [
                        "iss": "https://appleid.apple.com", "aud": "com.example.music", "sub": .string(user),
                        "exp": .number(Date().timeIntervalSince1970.rounded() + 600),
                    ]
                    return ["token": .string(try key.token(claims)), "id": .string(user)]
                }
            }
        }
    }

    private static func facebook(_ id: String) -> JSONObject {
        [
            "id": .string(id), "access_token": .string("token of \(id)"),
            "expiration_date": "2031-01-01T00:00:00.000Z",
        ]
    }

    @Test("A user signs up with Facebook, links Apple, logs in with either, and unlinks Facebook", arguments: [4, 9])
    func flow(preset: Int) async throws {
        try await Self.run(preset: preset) { server, apple in
            let phone = IOSClient(server)
            let (first, isNew) = try await phone.logIn(with: "facebook", Self.facebook("77"))
            #expect(isNew)
            let me = try await first.me().succeeded()
            #expect(me["username"]?.stringValue?.isEmpty == false)
            // The SDK retains the login data and sends them with every save of the user.
            _ = try await first.updateUser([
                "username": "kim", "city": "Bonn", "authData": ["facebook": .object(Self.facebook("77"))],
            ]).succeeded()
            _ = try await first.logOut().succeeded()
            #expect(try await first.me().code == 209)

            let (second, isNewAgain) = try await IOSClient(server).logIn(with: "facebook", Self.facebook("77"))
            #expect(!isNewAgain)
            #expect(second.userID == first.userID)
            let mine = try await second.me().succeeded()
            #expect(mine["username"] == "kim" && mine["city"] == "Bonn")
            #expect(mine["authData"]?["facebook"]?["id"] == "77")
            // Another phone of the same user stays logged in.
            let token = try apple("000123.abc.0456")
            _ = try await second.updateUser([
                "authData": ["facebook": .object(Self.facebook("77")), "apple": .object(token)]
            ]).succeeded()
            let (third, _) = try await IOSClient(server).logIn(with: "apple", try apple("000123.abc.0456"))
            #expect(third.userID == first.userID)
            #expect(try await second.me().status == 200)
            // Other users can't see the login data.
            let stranger = try await IOSClient(server).signUp("stranger")
            let found = try await stranger.find("_User", where: ["username": "kim"])
            #expect(found.allSatisfy { $0["authData"] == nil && $0["email"] == nil })

            _ = try await third.updateUser(["authData": ["facebook": .null, "apple": .object(token)]]).succeeded()
            let (other, isOther) = try await IOSClient(server).logIn(with: "facebook", Self.facebook("77"))
            #expect(isOther && other.userID != first.userID)
        }
    }

    @Test(
        "Linking another user's Facebook account fails with 208; logging in with it returns that user",
        arguments: [4, 9])
    func taken(preset: Int) async throws {
        try await Self.run(preset: preset) { server, _ in
            let (owner, _) = try await IOSClient(server).logIn(with: "facebook", Self.facebook("77"))
            let kim = try await IOSClient(server).signUp("kim")
            let link = try await kim.updateUser(["authData": ["facebook": .object(Self.facebook("77"))]])
            #expect(link.code == 208, "\(link.text)")
            // The SDK then logs in without the previous session.
            let (now, isNew) = try await IOSClient(server).logIn(with: "facebook", Self.facebook("77"))
            #expect(!isNew && now.userID == owner.userID)
        }
    }

    @Test("An anonymous user becomes a Facebook user and keeps earlier objects")
    func anonymous() async throws {
        try await Self.run(preset: 9) { server, _ in
            let device = UUID().uuidString.lowercased()
            let (nobody, isNew) = try await IOSClient(server).logIn(with: "anonymous", ["id": .string(device)])
            #expect(isNew)
            let post = try await nobody.create("Posts", ["user": nobody.user, "song": "one"])
            _ = try await nobody.updateUser([
                "authData": ["anonymous": .null, "facebook": .object(Self.facebook("78"))]
            ]).succeeded()
            let (kim, _) = try await IOSClient(server).logIn(with: "facebook", Self.facebook("78"))
            #expect(kim.userID == nobody.userID)
            #expect(try await kim.find("Posts", where: ["user": kim.user]).map(\.objectID) == [post.objectID])
        }
    }

    @Test("Rejects invalid tokens and tokens of another user with code 101")
    func refused() async throws {
        try await Self.run(preset: 9) { server, apple in
            let phone = IOSClient(server)
            var stolen = try apple("000123.abc.0456")
            stolen["id"] = "000999.eve.0001"
            var foreign = Self.facebook("77")
            foreign["id"] = "78"
            let cases: [(Name, JSONObject)] = [
                ("facebook", ["id": "77", "access_token": "x", "expiration_date": "2031-01-01T00:00:00.000Z"]),
                ("facebook", foreign), ("apple", ["id": "1", "token": "x"]), ("apple", stolen),
            ]
            for (provider, data) in cases {
                let answer = try await phone.run("POST", "/users", ["authData": .object([provider: .object(data)])])
                #expect(answer.code == 101 && answer.error?.isEmpty == false, "\(answer.text)")
            }
            #expect(try await server.texts("SELECT \"objectId\" FROM \"_User\"").isEmpty)
        }
    }
}
