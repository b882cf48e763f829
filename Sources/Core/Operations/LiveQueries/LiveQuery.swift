import Encoding
import JSON
import ParseModel
import ParseStorage
import Rules

/// A client's subscription: the objects and changes it matches and the fields it receives.
public struct LiveQuery: Sendable {
    public let className: Name
    /// The condition as sent by the client.
    let condition: JSONObject
    /// Whether the condition contains times relative to now, so it must be parsed again for each change.
    let isRelative: Bool
    /// The fields to send, or nil for all.
    let keys: Set<Name>?
    /// The fields whose changes cause events, or nil for all.
    let watch: Set<FieldPath>?
    /// The pointer paths to replace with their objects.
    let includes: [[Name]]
    /// The include paths as a tree, with the selected keys of included objects, or nil without includes.
    let includeTree: IncludeNode?
    /// The compiled condition and rights, until the class or the caller changes.
    var prepared: Prepared?
    /// The approximate memory in bytes in addition to the client's message.
    public internal(set) var weight = 0

    /// The compiled condition and the caller's rights.
    struct Prepared: Sendable {
        let caller: Caller
        let schemaVersion: Int
        /// The time used for relative times in the condition.
        let moment: ParseDate
        let matcher: FilterMatcher
        let reader: ObjectReader
    }

    /// The end of the error message for conditions that need the database.
    public static let needsDatabase = "can't be used in live queries"

    /// Fields that are always sent.
    static let always: Set<Name> = ["objectId", "createdAt", "updatedAt", "ACL"]

    /// The maximum number of include paths, and the maximum depth of each.
    private static let (maxIncludes, includeDepth) = (10, 3)

    /// Parses a subscription. Unknown members are ignored, and older clients send `fields` instead of `keys`.
    ///
    /// - Throws: 103 or 102 if a member is invalid.
    package init(_ query: JSONObject) throws(ParseError) {
        guard let name = query["className"]?.stringValue, !name.isEmpty, name.utf8.count <= 256 else {
            throw ParseError(ParseError.invalidClassName, "Invalid classname: \(query["className"]?.stringValue ?? "")")
        }
        className = Name(name)
        switch query["where"] {
        case nil, .null: condition = [:]
        case .object(let object): condition = object
        default: throw ParseError(102, "where must be an object")
        }
        isRelative = Self.hasRelativeTime(.object(condition))
        let wanted = query["keys"] == nil ? "fields" : "keys"
        let fields = try Self.fields(query, Name(wanted))
        keys = fields.map { Set($0.map { Name($0.root) }) }
        watch = try Self.fields(query, "watch").map { Set($0) }
        let includes = try Self.includes(query)
        self.includes = includes
        let inner = (fields ?? []).filter { !$0.steps.isEmpty }.map { [Name($0.root)] + $0.steps.names }
        includeTree = includes.isEmpty ? nil : IncludeNode(paths: includes, keys: inner)
    }

    private static func includes(_ query: JSONObject) throws(ParseError) -> [[Name]] {
        guard let value = query["include"], !value.isNull else { return [] }
        guard value.stringValue != nil || value.arrayValue?.allSatisfy({ $0.stringValue != nil }) == true else {
            throw ParseError(102, "include must be a string or an array of strings")
        }
        let names = value.parameterNames
        try HardLimits.check(names.count, atMost: maxIncludes, "include fields")
        var paths: [[Name]] = []
        for name in names {
            let path = FieldPath(name)
            let depth = path.steps.count + 1
            guard depth <= includeDepth else {
                throw ParseError(102, "Include depth of \(depth) exceeds maximum allowed depth of \(includeDepth)")
            }
            guard !name.utf8.contains(UInt8(ascii: "*")), !path.root.isEmpty, !path.steps.contains(where: \.isEmpty)
            else { throw ParseError(102, "include has an invalid field name: \(name)") }
            paths.append([Name(path.root)] + path.steps.names)
        }
        return paths
    }

    private static func hasRelativeTime(_ value: JSONValue) -> Bool {
        switch value {
        case .object(let object): object["$relativeTime"] != nil || object.values.contains(where: hasRelativeTime)
        case .array(let list): list.contains(where: hasRelativeTime)
        default: false
        }
    }

    private static func fields(_ query: JSONObject, _ key: Name) throws(ParseError) -> [FieldPath]? {
        guard let value = query[key], !value.isNull else { return nil }
        guard let list = value.arrayValue, list.allSatisfy({ $0.stringValue != nil }) else {
            throw ParseError(102, "\(key) must be an array of field names")
        }
        try HardLimits.check(list.count, atMost: HardLimits.keys, key.text)
        return list.isEmpty ? nil : list.compactMap { $0.stringValue.map { FieldPath($0) } }
    }

    /// Whether pointers are replaced with their objects.
    public var hasIncludes: Bool { includeTree != nil }

    /// Whether the condition names one object. The subscription then needs the permission to get instead of to find.
    var isById: Bool { condition.count == 1 && condition["objectId"]?.stringValue != nil }

    /// The subscription's class, condition, user and keys, for administrators. Long conditions are truncated.
    public var overview: JSONObject {
        var overview: JSONObject = ["className": .string(className.text), "where": .object(condition)]
        let text = JSONValue.object(condition).text
        if text.utf8.count > 1_000 { overview["where"] = .string(text.truncated(to: 500, "\u{2026}")) }
        overview["user"] = prepared?.caller.user.map { .string($0.id) }
        overview["keys"] = keys.map { .array($0.sorted().map { .string($0.text) }) }
        return overview
    }

    /// Returns the selected fields of an object, with its class.
    func selected(_ object: JSONObject) -> JSONObject {
        var selected: JSONObject = ["__type": "Object", "className": .string(className.text)]
        for (key, value) in object where keys?.contains(key) ?? true || Self.always.contains(key) {
            selected[key] = value
        }
        return selected
    }

    private static func value(at path: FieldPath, in object: JSONObject) -> JSONValue? {
        path.steps.reduce(object[Name(path.root)]) { value, step in
            if let list = value?.arrayValue {
                return Int(step).flatMap { list.indices.contains($0) ? list[$0] : nil }
            }
            return value?.objectValue?[Name(step)]
        }
    }

    /// Whether a watched field has changed. Always true if no fields are watched.
    ///
    /// - Throws: `FilterMatcherError.tooMuchWork` if the comparison exceeds its step budget.
    package func concerns(_ before: JSONObject?, _ after: JSONObject, _ budget: inout MatchBudget)
        throws(FilterMatcherError)
        -> Bool
    {
        guard let watch else { return true }
        for path in watch {
            try budget.spend(path.steps.count)
            let (former, current) = (Self.value(at: path, in: before ?? [:]), Self.value(at: path, in: after))
            if try !Self.areSame(former, current, &budget) { return true }
        }
        return false
    }

    private static func areSame(_ one: JSONValue?, _ other: JSONValue?, _ budget: inout MatchBudget)
        throws(FilterMatcherError) -> Bool
    {
        try budget.spend(1)
        switch (one, other) {
        case (.array(let one)?, .array(let other)?):
            guard one.count == other.count else { return false }
            for (one, other) in zip(one, other) {
                guard try areSame(one, other, &budget) else { return false }
            }
            return true
        case (.object(let one)?, .object(let other)?):
            guard one.count == other.count else { return false }
            for (one, other) in zip(one, other) {
                guard one.key == other.key, try areSame(one.value, other.value, &budget) else { return false }
            }
            return true
        case (.string(let one)?, .string(let other)?):
            try budget.spend(min(one.utf8.count, other.utf8.count) >> 5)
            return one.hasSameBytes(as: other)
        default: return one == other
        }
    }
}

/// A live-query event for one subscriber.
public struct LiveQueryEvent: Sendable {
    /// The kind of change, from the subscriber's view.
    public enum Kind: String, Sendable {
        /// The object was created and matches.
        case create
        /// An existing object now matches or is now visible.
        case enter
        /// A matching object changed and still matches.
        case update
        /// An object no longer matches or is no longer visible.
        case leave
        /// A matching object was deleted.
        case delete
    }

    public let kind: Kind
    /// The object after the change. For a deleted or invisible object, its last visible state.
    public let object: JSONObject
    /// The object before the change, or nil if it was deleted, didn't exist or wasn't visible.
    public let original: JSONObject?
}
