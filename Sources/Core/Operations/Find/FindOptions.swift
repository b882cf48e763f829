import JSON
import ParseModel
import ParseStorage

/// The parsed parameters of a find or get.
struct FindOptions: Sendable {
    var condition: JSONObject = [:]
    var order: [SortKey] = []
    /// The maximum number of results, or nil if the request sets none.
    var limit: Int?
    var skip = 0
    var wantsCount = false
    var keys: [[Name]]?
    var excluded: [[Name]] = []
    var includes: [[Name]] = []
    var includesAll = false
    private var includesEvery = false
    var redirectKey: String?
    var explain: JSONValue?
    var readPreference: JSONValue?
    var includeReadPreference: JSONValue?

    /// Whether the request wants neither objects nor a count nor a plan.
    var asksForNothing: Bool { limit == 0 && !wantsCount && explain == nil }

    private static let ignored: Set<Name> = ["hint", "comment", "subqueryReadPreference", "trace", "watch"]
    private static let getParameters: Set<Name> = [
        "keys", "include", "excludeKeys", "readPreference", "includeReadPreference", "subqueryReadPreference",
        "includeAll", "trace",
    ]

    /// Reads the parameters of a find.
    ///
    /// - Throws: 102 for an unknown or invalid parameter, 107 if `where` is not JSON.
    init(find parameters: JSONObject) throws(ParseError) {
        for (name, value) in parameters {
            switch name {
            case "where": condition = try Self.condition(value)
            case "order": order = try SortKey.limited(value)
            case "limit": limit = try Self.number(value, name.text)
            case "skip": skip = try Self.number(value, name.text) ?? 0
            case "count": wantsCount = Self.isSet(value)
            case "redirectClassNameForKey": redirectKey = value.stringValue
            case "explain": if Self.isSet(value) { explain = value }
            case "readPreference": readPreference = value
            case "includeReadPreference": includeReadPreference = value
            case "keys", "excludeKeys", "include", "includeAll": try readProjection(name.text, value)
            default:
                guard Self.ignored.contains(name) else {
                    throw ParseError(ParseError.invalidQuery, "Invalid parameter for query: \(name)")
                }
            }
        }
        finishProjection()
    }

    /// Reads the parameters of a get.
    ///
    /// - Throws: 102 for an unknown or invalid parameter.
    init(get parameters: JSONObject) throws(ParseError) {
        for (name, value) in parameters {
            guard Self.getParameters.contains(name) else {
                throw ParseError(ParseError.invalidQuery, "Improper encode of parameter")
            }
            switch name {
            case "readPreference": readPreference = value
            case "includeReadPreference": includeReadPreference = value
            default: try readProjection(name.text, value)
            }
        }
        finishProjection()
    }

    private mutating func readProjection(_ name: String, _ value: JSONValue) throws(ParseError) {
        let names = value.parameterNames
        try Self.check(names, of: name)
        let paths = names.map { name in name.utf8.split(separator: UInt8(ascii: ".")).map { Name(Substring($0)) } }
            .filter { !$0.isEmpty }
        switch name {
        // An empty list selects only the fields that are always returned: id, dates and ACL.
        case "keys": if value.stringValue != nil || value.arrayValue != nil { keys = paths }
        case "excludeKeys": excluded = paths
        case "include":
            if names.contains("*") { includesEvery = true } else { includes = paths }
        case "includeAll": includesAll = includesAll || Self.isSet(value)
        default: break
        }
    }

    private static func check(_ names: [String], of parameter: String) throws(ParseError) {
        let isInclude = parameter == "include"
        try HardLimits.check(
            names.count, atMost: isInclude ? HardLimits.includes : HardLimits.keys,
            isInclude ? "include fields" : parameter)
        for name in names {
            let depth = name.utf8.reduce(1) { $0 + ($1 == UInt8(ascii: ".") ? 1 : 0) }
            guard depth <= HardLimits.includeDepth else {
                throw ParseError(
                    ParseError.invalidQuery,
                    "\(isInclude ? "Include" : "Key") depth of \(depth) exceeds maximum allowed depth of "
                        + "\(HardLimits.includeDepth)")
            }
        }
    }

    /// Adds the includes that dotted `keys` and `excludeKeys` imply: the key `author.name` includes `author`.
    private mutating func finishProjection() {
        for path in (keys ?? []) + excluded where path.count > 1 { includes.append(Array(path.dropLast())) }
        // `*` replaces all other includes, while `includeAll` adds to them.
        if includesEvery {
            includes = []
            includesAll = true
        }
    }

    private static func condition(_ value: JSONValue) throws(ParseError) -> JSONObject {
        switch value {
        case .object(let object): return object
        case .null: return [:]
        case .string(let text):
            if text.isEmpty { return [:] }
            if let object = (try? JSONValue(parsing: Array(text.utf8)))?.objectValue { return object }
        default: break
        }
        throw ParseError(ParseError.invalidJSON, "where parameter is not valid JSON")
    }

    /// Reads a number like JavaScript's `Number()` and truncates it. Returns nil for other values. Throws 102 if it is
    /// negative.
    private static func number(_ value: JSONValue, _ name: String) throws(ParseError) -> Int? {
        if case .bool(let flag) = value { return flag ? 1 : 0 }
        guard let number = value.parameterInteger else { return nil }
        guard number >= 0 else { throw ParseError(ParseError.invalidQuery, "\(name) must not be negative") }
        return number
    }

    private static func isSet(_ value: JSONValue) -> Bool {
        switch value {
        case .string(let text): !["", "0", "false"].contains(text)
        default: value.isTruthy
        }
    }
}
