import JSON

/// What one part of an audience is sent: the same for each of its devices.
package struct PushMessage: Sendable {
    /// What is shown and what comes with it, with the texts of one locale and one badge; nil where nothing was given.
    var data: JSONObject?
    /// What Android shows by itself; nil for nothing.
    var notification: JSONObject?
    /// The message of FCM as it is to be; nil for one that is made of the data.
    var raw: JSONObject?
    /// What a later notification replaces this one by.
    var collapseId: String?
    /// The kind of notification, as Apple names it; nil where nothing was said.
    var pushType: String?
    /// The priority, as Apple counts it; nil where nothing was said.
    var priority: Int?
    /// When the service gives up, in milliseconds since 1970; nil for the service's own time.
    var expiry: Int64?
    /// By what devices know the notification again.
    var id: String
    /// When it was sent, as ISO 8601.
    var time: String
    /// Whether no device gets it.
    var isTrial: Bool

    /// Why what waited for its service for too long is not sent.
    static let overdue = "expired before it could be sent"

    /// Takes the parameters of a push apart. What stands beside the data counts before what stands in it.
    package init(content: PushContent, data: JSONObject?, id: String, time: String) {
        self.data = data
        self.id = id
        self.time = time
        notification = content.body["notification"]?.objectValue
        raw = content.body["rawPayload"]?.objectValue
        expiry = content.expiry
        isTrial = content.isTrial
        func setting(_ names: Name...) -> JSONValue? {
            for name in names {
                if let value = content.body[name] ?? data?[name], !value.isNull { return value }
            }
            return nil
        }
        collapseId = setting("collapse_id", "collapseId")?.text(orNumber: true)
        pushType = data?["pushType"]?.stringValue ?? setting("push_type")?.stringValue
        priority = setting("priority")?.text(orNumber: true).flatMap { Int($0) }
    }
}

/// What was asked for, as it waits in the database.
package struct PushContent: Sendable {
    /// The parameters of the request.
    var body: JSONObject
    /// When the services give up, in milliseconds since 1970; nil for never.
    var expiry: Int64? = nil

    package init(body: JSONObject, expiry: Int64? = nil) {
        self.body = body
        self.expiry = expiry
    }

    package var data: JSONObject? { body["data"]?.objectValue }

    /// Whether it is only found out what would be sent.
    var isTrial: Bool {
        // SDKs put it into the data of a push for Firebase.
        [body["dry_run"], data?["dry_run"], data?["dryRun"]].contains { $0?.boolValue == true }
    }

    /// How many are added to the badge of each device, or what it becomes; nil where it stays.
    var badge: PushBadge? { data?["badge"].flatMap(PushBadge.init(json:)) }
}

extension JSONValue {
    fileprivate func text(orNumber: Bool) -> String? {
        switch self {
        case .string(let text): text
        case .number: text
        default: nil
        }
    }
}

/// What becomes of the badge of each device.
enum PushBadge: Sendable, Equatable {
    /// It becomes a number.
    case set(Double)
    case add(Double)

    /// Reads what a push says; nil for what is none.
    init?(json: JSONValue) {
        switch json {
        case .number(let number): self = .set(number)
        case .string(let text) where text.lowercased() == "increment": self = .add(1)
        case .object(let operation):
            guard operation["__op"]?.stringValue?.lowercased() == "increment",
                let amount = operation["amount"]?.numberValue, amount != 0
            else { return nil }
            self = .add(amount)
        default: return nil
        }
    }

    /// What a device shows.
    ///
    /// - Parameters:
    ///   - badge: What its row says.
    ///   - isChanged: Whether the row has been changed already.
    func shown(over badge: Double?, isChanged: Bool) -> Double {
        if isChanged { return badge ?? 0 }
        switch self {
        case .set(let number): return number
        case .add(let amount): return (badge ?? 0) + amount
        }
    }
}
