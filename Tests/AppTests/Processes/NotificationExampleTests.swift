import Foundation
import JSON
import TestSupport
import TestTools
import Testing

/// The notification examples in Swift and JavaScript.
@Suite("Push notifications of the examples", .timeLimit(.minutes(5)))
struct NotificationExampleTests {
    /// A user with a phone.
    private struct Person {
        let id: String
        let session: TestServer.Identity
        var pointer: JSONValue { .pointer("_User", id) }

        init(_ server: TestServer, _ name: String, token: String) async throws {
            let user = try await server.signUp(name)
            id = user.id
            session = .session(user.token)
            _ = try await server.send(
                "POST", "/installations",
                [
                    "deviceType": "ios", "deviceToken": .string(token), "installationId": .string(token),
                    "appIdentifier": "app.one", "user": .pointer("_User", id),
                ], as: session
            ).succeeded()
        }
    }

    /// Follows, likes and comments, and expects each notification on the right phone.
    private static func expectNotifications(_ server: TestServer, _ sink: PushSink) async throws {
        let kim = try await Person(server, "kim", token: "aa01")
        let lou = try await Person(server, "lou", token: "aa02")
        let ann = try await Person(server, "ann", token: "aa03")
        func make(_ className: String, _ fields: JSONValue, _ person: Person) async throws -> JSONValue {
            let made = try await server.send("POST", "/classes/\(className)", fields, as: person.session).succeeded()
            return .pointer(className, try made.string("objectId"))
        }
        _ = try await make("Followers", ["following": kim.pointer, "followed": lou.pointer], kim)
        let post = try await make("Posts", ["user": kim.pointer, "title": "song"], kim)
        _ = try await make("Likes", ["user": lou.pointer, "post": post], lou)
        let session = try await make(
            "MusicSession", ["author": kim.pointer, "users": [kim.pointer, lou.pointer, ann.pointer]], kim)
        _ = try await make("Messages", ["musicSession": session, "message": "hi", "author": ann.pointer], ann)
        let expected: Set = [
            "aa02 kim follows you", "aa01 lou likes your post", "aa01 ann writes: hi", "aa02 ann writes: hi",
        ]
        var seen: Set<String> = []
        let isComplete = try await eventually(within: .seconds(60)) {
            seen = Set(sink.notifications.map { "\($0.token) \($0.body["aps"]?["alert"]?.stringValue ?? "")" })
            return seen == expected
        }
        #expect(isComplete, "\(seen)")
        #expect(sink.notifications.count == 4)
    }

    @Test("The Swift example sends a push for a follow, a like and a message")
    func swift() async throws {
        try await PushSink.run { sink in
            try await ServerProcesses.run(1, ["push": ["ios": sink.apple("app.one")]], program: "CloudExample") {
                try await Self.expectNotifications($0[0], sink)
            }
        }
    }

    @Test("The JavaScript example sends a push for a follow, a like and a message")
    func javaScript() async throws {
        let code = try String(contentsOfFile: Checkout.path("examples/cloud/main.js"), encoding: .utf8)
        try await PushSink.run { sink in
            try await CloudApp.serve(["main.js": code], ["push": ["ios": sink.apple("app.one")]]) { server, _ in
                try await Self.expectNotifications(server, sink)
            }
        }
    }
}
