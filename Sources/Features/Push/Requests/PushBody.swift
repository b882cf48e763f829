import JSON
import ParseModel

/// The validated parameters of a push.
struct PushBody: Sendable {
    /// The parameters. A condition that was sent as JSON text is parsed.
    let parameters: JSONObject
    /// The condition that selects the devices, as shown in `_PushStatus`.
    let query: JSONObject
    /// The time to send the push, or nil to send it immediately.
    let time: PushTime?
    /// The time after which the push services drop the push, or nil for their default. Never set together with
    /// `interval`.
    let expiration: ParseDate?
    /// The lifetime in seconds after sending, or nil if unset.
    let interval: Double?

    private static let maxChannels = 10_000
    private static let maxLocales = 100
    private static let maxConditionBytes = 65_536
    private static let maxCollapseIdBytes = 64
    private static let maxBadge = 1e15

    /// Checks the parameters in parse-server's order.
    ///
    /// - Parameter isConfigured: Whether push services are configured.
    /// - Throws: 115 for an invalid parameter, or 107 for a condition that isn't JSON.
    init(_ parameters: JSONObject, isConfigured: Bool) throws(ParseError) {
        let condition = parameters["where"]
        let channels = parameters["channels"]
        guard condition == nil || channels == nil else {
            throw Self.error("Channels and query can not be set at the same time.")
        }
        guard condition != nil || channels != nil else {
            throw Self.error("Sending a push requires either \"channels\" or a \"where\" query.")
        }
        guard isConfigured else { throw Self.error("Missing push configuration") }
        expiration =
            try parameters["expiration_time"].map { value throws(ParseError) in
                guard let time = PushTime(json: value) else { throw Self.invalid(value) }
                switch time {
                case .moment(let date), .local(let date): return date.milliseconds == 0 ? nil : date
                }
            } ?? nil
        interval = try parameters["expiration_interval"].map { value throws(ParseError) in
            guard let seconds = value.numberValue, seconds > 0, seconds < 1e11 else {
                throw Self.error("expiration_interval must be a number greater than 0")
            }
            return seconds
        }
        if interval != nil, let value = parameters["expiration_time"], value != .number(0) {
            throw Self.error("Both expiration_time and expiration_interval cannot be set")
        }
        time = try parameters["push_time"].map { value throws(ParseError) in
            guard let time = PushTime(json: value) else { throw Self.invalid(value) }
            return time
        }
        try Self.checkBadge(parameters["data"]?["badge"])
        query = try Self.query(condition, channels)
        var read = parameters
        if condition != nil { read["where"] = .object(query) }
        self.parameters = read
        try Self.checkContent(parameters)
    }

    static func error(_ message: String) -> ParseError { ParseError(ParseError.pushMisconfigured, message) }

    /// Formats the value in the message as JavaScript prints it.
    private static func invalid(_ value: JSONValue) -> ParseError {
        let text =
            switch value {
            case .object: "[object Object]"
            case .array(let elements): elements.map { $0.stringValue ?? $0.text }.joined(separator: ",")
            case .string(let text): text
            default: value.text
            }
        return error("\(text) is not valid time.")
    }

    private static func checkBadge(_ value: JSONValue?) throws(ParseError) {
        switch value {
        case nil, .null?: return
        // A number is an absolute badge.
        case .number(let number)? where number.magnitude <= maxBadge: return
        case .string(let text)? where text.lowercased() == "increment": return
        case .object(let operation)?
        where operation["__op"]?.stringValue?.lowercased() == "increment"
            && (operation["amount"]?.numberValue).map { $0 != 0 && $0.magnitude <= maxBadge } == true:
            return
        default:
            throw error(
                "Invalid value for badge, expected number or 'Increment' or {increment: number}")
        }
    }

    private static func query(_ condition: JSONValue?, _ channels: JSONValue?) throws(ParseError) -> JSONObject {
        if let channels {
            guard let list = channels.arrayValue, list.allSatisfy({ $0.stringValue != nil }) else {
                throw error("channels must be an array of strings")
            }
            guard list.count <= maxChannels else { throw error("channels has more than \(maxChannels) elements") }
            return ["channels": ["$in": channels]]
        }
        let text = condition?.stringValue
        guard text?.utf8.count ?? condition?.serialized().count ?? 0 <= maxConditionBytes else {
            throw error("where has more than \(maxConditionBytes) bytes")
        }
        if let text {
            guard let read = try? JSONValue(parsing: Array(text.utf8)), let query = read.objectValue, !read.containsNUL
            else { throw ParseError(ParseError.invalidJSON, "where parameter is not valid JSON") }
            return query
        }
        guard let query = condition?.objectValue else { throw error("where must be an object") }
        return query
    }

    private static func checkContent(_ parameters: JSONObject) throws(ParseError) {
        for key in ["data", "notification", "rawPayload"] as [Name] {
            if let value = parameters[key], value.objectValue == nil { throw error("\(key) must be an object") }
        }
        if let value = parameters["dry_run"], value.boolValue == nil { throw error("dry_run must be true or false") }
        let data = parameters["data"]?.objectValue
        guard data != nil || parameters["notification"] != nil || parameters["rawPayload"] != nil else {
            throw error("Sending a push requires data, notification or rawPayload.")
        }
        let locales = data?.keys.filter { $0.hasPrefix("alert-") || $0.hasPrefix("title-") } ?? []
        guard locales.count <= 2 * maxLocales else {
            throw error("data has more than \(maxLocales) locales")
        }
        for key in ["collapse_id", "push_type", "priority"] as [Name] {
            guard let value = parameters[key] ?? data?[key], !value.isNull else { continue }
            try checkHeader(key, value.stringValue ?? (value.numberValue == nil ? nil : value.text))
        }
        for (key, value) in [
            ("collapseId", parameters["collapseId"]), ("collapseId", data?["collapseId"]),
            ("pushType", data?["pushType"]),
        ] as [(Name, JSONValue?)] {
            if let value, !value.isNull { try checkHeader(key, value.stringValue) }
        }
    }

    /// Checks a value that becomes an HTTP header field, so only printable ASCII is allowed.
    private static func checkHeader(_ key: Name, _ text: String?) throws(ParseError) {
        guard let text, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }), text.utf8.count <= maxCollapseIdBytes
        else { throw error("\(key) must be an ASCII string of at most \(maxCollapseIdBytes) bytes") }
    }

    /// Whether the push has texts for certain locales only, so that devices with other locales get none.
    var hasTextsOfLocalesOnly: Bool {
        guard let data = parameters["data"]?.objectValue, data["alert"] == nil, data["aps"]?["alert"] == nil else {
            return false
        }
        return data.keys.contains { $0.hasPrefix("alert-") }
    }

    /// The alert, from which the row's `pushHash` is computed, or an empty string.
    var hashed: String {
        guard let alert = parameters["data"]?["alert"] else { return "" }
        return alert.stringValue ?? alert.text
    }
}
