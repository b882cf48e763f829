import Foundation
import JSON

/// How many requests of a kind there may be in a time: one element of the option `rateLimit`.
public struct RateLimit: Sendable {
    /// Which requests are counted together.
    public enum Zone: String, Sendable {
        case ip, session, user, global
    }

    /// The row of the option in the table.
    static let option = OptionDefinition(
        "rateLimit", "PARSE_SERVER_RATE_LIMIT", .array, "How many requests of a kind there may be in a time")

    /// The text of the refusal.
    public var message = "Too many requests."
    /// How many milliseconds a count lasts.
    public var window: Int
    /// How many requests are served meanwhile.
    public var count: Int
    /// The methods, in capitals; empty for all.
    public var methods: [String] = []
    /// Which requests are counted together.
    public var zone = Zone.ip
    /// Whether requests of this machine itself are counted.
    public var includesInternalRequests = false
    /// Whether requests with the master key are counted.
    public var includesMasterKey = false
    private let expression: NSRegularExpression

    /// Whether the limit is about a path, which begins with a slash and ends with none.
    public func concerns(_ path: String) -> Bool {
        expression.firstMatch(in: path, range: NSRange(path.startIndex..., in: path)) != nil
    }

    /// Reads the option.
    ///
    /// - Throws: `ConfigurationError` for what is no list of limits.
    static func list(json: JSONValue) throws(ConfigurationError) -> [RateLimit] {
        if json.isNull { return [] }
        guard json.arrayValue != nil || json.objectValue != nil else {
            throw ConfigurationError("rateLimit must be an array or object")
        }
        var limits: [RateLimit] = []
        for element in json.arrayValue ?? [json] {
            guard let object = element.objectValue else {
                throw ConfigurationError("rateLimit must be an array of objects")
            }
            limits.append(try RateLimit(json: object))
        }
        return limits
    }

    private static let keys: Set<Name> = [
        "requestPath", "requestTimeWindow", "requestCount", "requestMethods", "errorResponseMessage",
        "includeInternalRequests", "includeMasterKey", "redisUrl", "zone",
    ]

    private init(json: JSONObject) throws(ConfigurationError) {
        for key in json.keys where !Self.keys.contains(key) {
            throw ConfigurationError("Invalid rate limit option \"\(key)\"")
        }
        if let url = json["redisUrl"], !url.isNull, url != "" {
            throw ConfigurationError(
                "rateLimit.redisUrl is not built into Roost: each process counts for itself, in memory")
        }
        func value(_ key: Name) -> JSONValue? { json[key].flatMap { $0.isNull ? nil : $0 } }
        func flag(_ key: Name) throws(ConfigurationError) -> Bool {
            guard let value = value(key) else { return false }
            guard let flag = value.boolValue else { throw ConfigurationError("rateLimit.\(key) must be a boolean") }
            return flag
        }
        func number(_ key: Name) throws(ConfigurationError) -> Int {
            guard let value = value(key) else { throw ConfigurationError("rateLimit.\(key) must be defined") }
            guard let number = value.numberValue, number >= 0, number < 1e12 else {
                throw ConfigurationError("rateLimit.\(key) must be a number")
            }
            return Int(number)
        }
        guard let path = value("requestPath") else { throw ConfigurationError("rateLimit.requestPath must be defined") }
        guard let path = path.stringValue else { throw ConfigurationError("rateLimit.requestPath must be a string") }
        window = try number("requestTimeWindow")
        count = try number("requestCount")
        includesInternalRequests = try flag("includeInternalRequests")
        includesMasterKey = try flag("includeMasterKey")
        if let text = value("errorResponseMessage") {
            guard let text = text.stringValue else {
                throw ConfigurationError("rateLimit.errorResponseMessage must be a string")
            }
            if !text.isEmpty { message = text }
        }
        if let given = value("requestMethods") {
            for method in given.arrayValue ?? [given] {
                guard let method = method.stringValue else {
                    throw ConfigurationError("rateLimit.requestMethods must be an array of strings")
                }
                methods.append(method.uppercased())
            }
        }
        if let given = value("zone") {
            guard let known = given.stringValue.flatMap(Zone.init(rawValue:)) else {
                throw ConfigurationError("rateLimit.zone must be one of ip, session, user, global")
            }
            zone = known
        }
        guard let source = RoutePattern.regularExpression(path),
            let expression = try? NSRegularExpression(pattern: source, options: .caseInsensitive)
        else { throw ConfigurationError("rateLimit.requestPath \"\(path)\" is not valid") }
        self.expression = expression
    }
}
