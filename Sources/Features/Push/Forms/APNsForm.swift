import Crypto
import Encoding
import JSON
import NIOCore
import NIOHPACK
import Platform

/// Builds requests in the format of Apple's push service.
package enum APNsForm {
    /// The maximum payload size of notifications, in bytes.
    static let maxBytes = 4096
    /// The maximum payload size of VoIP calls, in bytes.
    static let maxCallBytes = 5120

    private static let settings: Set<Name> = [
        "collapseId", "collapse_id", "pushType", "push_type", "topic", "expiry", "expiration_time", "priority", "id",
        "requestId", "channelId",
    ]

    /// Members of a push's data that are moved to `aps`, with Apple's names for them.
    private static let members: [Name: Name] = [
        "category": "category", "threadId": "thread-id", "targetContentIdentifier": "target-content-id",
        "interruptionLevel": "interruption-level", "sound": "sound",
    ]

    package static func body(_ data: JSONObject) -> JSONObject {
        var aps = data["aps"]?.objectValue ?? [:]
        var others: JSONObject = [:]
        for (key, value) in data {
            switch key {
            case "aps": if value.objectValue == nil { others[key] = value }
            case "alert": aps["alert"] = value
            case "badge": if value.numberValue != nil { aps["badge"] = value }
            case "content-available", "mutable-content": if value.numberValue == 1 { aps[key] = 1 }
            case "title": break
            default:
                if let member = members[key] {
                    aps[member] = value
                } else if !settings.contains(key) {
                    others[key] = value
                }
            }
        }
        if let title = data["title"] {
            switch aps["alert"] {
            case .object(var alert)?:
                alert["title"] = title
                aps["alert"] = .object(alert)
            case .string(let text)?: aps["alert"] = ["body": .string(text), "title": title]
            default: aps["alert"] = ["title": title]
            }
        }
        if !aps.isEmpty { others["aps"] = .object(aps) }
        return others
    }

    /// Returns the header fields that all devices share, without the authorization.
    ///
    /// - Parameter topic: The app's bundle id, or nil to send no `apns-topic`.
    static func headers(_ message: PushMessage, topic: String?) -> HPACKHeaders {
        var headers = HPACKHeaders()
        let type = message.pushType ?? "alert"
        if let topic { headers.add(name: "apns-topic", value: topic + suffix(ofType: type)) }
        headers.add(name: "apns-push-type", value: type)
        // APNs rejects background notifications with its default priority, 10.
        if let priority = message.priority ?? (type == "background" ? 5 : nil) {
            headers.add(name: "apns-priority", value: "\(priority)")
        }
        if let expiry = message.expiry {
            headers.add(name: "apns-expiration", value: "\((expiry + 500) / 1000)")
        }
        if let id = message.collapseId { headers.add(name: "apns-collapse-id", value: id) }
        return headers
    }

    /// Returns the `apns-id` of a notification for a device. It is the same for every retry.
    static func identifier(_ message: PushMessage, _ device: PushDevice) -> String {
        var bytes = Array(Insecure.MD5.hash(data: Array("\(message.id) \(device.objectId)".utf8)))
        bytes[6] = bytes[6] & 0x0F | 0x30
        bytes[8] = bytes[8] & 0x3F | 0x80
        return UUID(uuid: bytes.withUnsafeBytes { $0.load(as: uuid_t.self) }).uuidString.asciiLowercased
    }

    private static func suffix(ofType type: String) -> String {
        switch type {
        case "location": ".location-query"
        case "voip": ".voip"
        case "complication": ".complication"
        case "fileprovider": ".pushkit.fileprovider"
        case "liveactivity": ".push-type.liveactivity"
        case "pushtotalk": ".voip-ptt"
        default: ""
        }
    }

    /// Returns whether an installation's app identifier is safe in a header field. An empty identifier is allowed and
    /// sends no field.
    static func isTopic(_ app: String) -> Bool {
        app.utf8.count <= 255 && app.utf8.allSatisfy { $0.isASCIIAlphanumeric || ".-_".utf8.contains($0) }
    }

    /// Returns the request path for a device token, or nil unless the token has 2 to 200 hexadecimal digits.
    package static func path(_ token: String) -> String? {
        let isToken = (2...200).contains(token.utf8.count) && token.utf8.allSatisfy { $0.hexadecimalDigit != nil }
        return isToken ? "/3/device/\(token)" : nil
    }
}
