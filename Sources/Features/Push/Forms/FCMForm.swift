import JSON
import ParseModel

/// Builds messages in the format of Firebase (HTTP v1), without the device token.
enum FCMForm {
    private static let settings: Set<Name> = [
        "badge", "content-available", "mutable-content", "priority", "expiration_time",
    ]

    static func android(_ message: PushMessage, now: Int64, makesNotification: Bool) -> JSONObject {
        if let raw = message.raw { return raw }
        var android: JSONObject = ["priority": "high"]
        if let notification = message.notification {
            var names: JSONObject = [:]
            for (key, value) in notification { names[snakeCase(key)] = value }
            android["notification"] = .object(names)
        } else if makesNotification, let data = message.data {
            var notification: JSONObject = [:]
            notification["title"] = data["title"] ?? data["alert"]?["title"]
            notification["body"] = data["alert"]?.stringValue.map { .string($0) } ?? data["alert"]?["body"]
            if !notification.isEmpty { android["notification"] = .object(notification) }
        }
        if let data = message.data {
            let own = data.filter { !settings.contains($0.key) }
            android["data"] = [
                "push_id": .string(message.id), "time": .string(message.time),
                "data": .string(JSONValue.object(own).text),
            ]
        }
        if let expiry = message.expiry {
            android["ttl"] = .string("\(min(max((expiry - now + 500) / 1000, 0), 2_419_200))s")
        }
        if let id = message.collapseId { android["collapse_key"] = .string(id) }
        return ["android": .object(android)]
    }

    static func apple(_ message: PushMessage) -> JSONObject {
        if let raw = message.raw { return raw }
        var payload = APNsForm.body(message.data ?? [:])
        if case .string(let text)? = payload["aps"]?["alert"], var aps = payload["aps"]?.objectValue {
            aps["alert"] = ["body": .string(text)]
            payload["aps"] = .object(aps)
        }
        var headers: JSONObject = [:]
        for (name, value, _) in APNsForm.headers(message, topic: nil) { headers[Name(name)] = .string(value) }
        return ["apns": ["headers": .object(headers), "payload": .object(payload)]]
    }

    private static func snakeCase(_ key: Name) -> Name {
        if key == "imageUrl" { return "image" }
        var text = ""
        for scalar in key.text.unicodeScalars {
            if ("A"..."Z").contains(scalar) {
                text += "_" + String(scalar).lowercased()
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return Name(text)
    }
}
