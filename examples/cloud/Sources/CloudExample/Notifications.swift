import Roost

/// Notifies users of new followers, likes and messages.
struct Notifications {
    private let database: Database
    private let sender: ParseObject?

    /// - Parameter request: The save that causes the notifications.
    init(_ request: SaveRequest<ParseObject>) {
        database = request.data(.asMaster)
        sender = request.user
    }

    /// Registers the triggers.
    static func register(with cloud: Cloud) {
        cloud.afterSave("Followers") { request in
            guard request.original == nil else { return }
            try await Notifications(request).send("follows you", to: [request.object["followed"]])
        }
        cloud.afterSave("Likes") { request in
            guard request.original == nil, let id = request.object["post"]?["objectId"]?.stringValue else { return }
            let notifications = Notifications(request)
            let post = try await notifications.database.get("Posts", id)
            try await notifications.send("likes your post", to: [post["user"]])
        }
        cloud.afterSave("Messages") { request in
            guard request.original == nil, let id = request.object["musicSession"]?["objectId"]?.stringValue else {
                return
            }
            let notifications = Notifications(request)
            let session = try await notifications.database.get("MusicSession", id)
            let text = request.object["message"]?.stringValue ?? ""
            try await notifications.send("writes: \(text.prefix(100))", to: session["users"]?.arrayValue ?? [])
        }
    }

    /// Sends a text to people, except the user who caused it.
    private func send(_ text: String, to people: [JSONValue?]) async throws {
        let users = people.compactMap { $0 }.filter { $0["objectId"]?.stringValue != sender?.objectId }
        guard !users.isEmpty else { return }
        let name = sender?["username"]?.stringValue ?? "Someone"
        try await database.push([
            "where": ["user": ["$in": .array(users)]],
            "data": ["alert": .string("\(name) \(text)"), "badge": "Increment", "sound": "default"],
        ])
    }
}
