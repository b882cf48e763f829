import JSON

/// A notification for the devices that get the same content.
package struct PushMessage: Sendable {
    /// The data with the texts of one locale and one badge, or nil if the push has no data.
    var data: JSONObject?
    /// The `notification` parameter, which Android displays by itself.
    var notification: JSONObject?
    /// The FCM message to send unchanged (`rawPayload`), or nil to build it from the other properties.
    var raw: JSONObject?
    /// The collapse id. A later notification with the same id replaces this one on the device.
    var collapseId: String?
    /// Apple's push type, or nil for `alert`.
    var pushType: String?
    /// Apple's priority, or nil for the default.
    var priority: Int?
    /// The delivery deadline in milliseconds since 1970, or nil for the service's default.
    var expiry: Int64?
    /// The id of the notification on devices, the same for repeated deliveries.
    var id: String
    /// The send time in ISO 8601.
    var time: String
    /// Whether this is a dry run that reaches no device.
    var isTrial: Bool

    static let overdue = "expired before it could be sent"

    /// Reads the parameters of a push. They override those in `data`, but `pushType` in `data` comes first.
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
        collapseId = setting("collapse_id", "collapseId")?.textOrNumber
        pushType = data?["pushType"]?.stringValue ?? setting("push_type")?.stringValue
        priority = setting("priority")?.textOrNumber.flatMap { Int($0) }
    }
}

/// The parameters of a push, as stored in the queue.
package struct PushContent: Sendable {
    var body: JSONObject
    /// The delivery deadline in milliseconds since 1970, or nil for the service's default.
    var expiry: Int64? = nil

    package init(body: JSONObject, expiry: Int64? = nil) {
        self.body = body
        self.expiry = expiry
    }

    package var data: JSONObject? { body["data"]?.objectValue }

    /// Whether this is a dry run.
    var isTrial: Bool {
        // SDKs add `dry_run` to the data of pushes for Firebase.
        [body["dry_run"], data?["dry_run"], data?["dryRun"]].contains { $0?.boolValue == true }
    }

    /// The badge change for each device, or nil to leave badges unchanged.
    var badge: PushBadge? { data?["badge"].flatMap(PushBadge.init(json:)) }
}

extension JSONValue {
    fileprivate var textOrNumber: String? {
        switch self {
        case .string(let text): text
        case .number: text
        default: nil
        }
    }
}

/// A change of a device's badge.
enum PushBadge: Sendable, Equatable {
    case set(Double)
    case add(Double)

    /// Reads the `badge` parameter. Returns nil if it is invalid or adds zero.
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

    /// Returns the badge that a device displays.
    ///
    /// - Parameters:
    ///   - badge: The badge stored in the installation.
    ///   - isChanged: Whether the stored badge already includes this change.
    func displayed(over badge: Double?, isChanged: Bool) -> Double {
        if isChanged { return badge ?? 0 }
        switch self {
        case .set(let number): return number
        case .add(let amount): return (badge ?? 0) + amount
        }
    }
}
