import JSON
import ParseModel
import ParseStorage
import Rules

/// What a client subscribes to: which changes of which objects, and what of them.
public struct LiveQuery: Sendable {
    /// The class.
    public let className: Name
    /// The condition, as the client sent it.
    let condition: JSONObject
    /// Whether the condition has times relative to now: it means another thing at each change.
    let isRelative: Bool
    /// The response fields; nil for all.
    let keys: Set<Name>?
    /// The fields whose changes are sent; nil for all.
    let watch: Set<FieldPath>?
    /// The paths of pointers whose objects are sent in their place.
    let includes: [[Name]]
    /// The same as a tree, with the keys that choose fields of the included objects; nil for nothing.
    let includeTree: IncludeNode?
    /// What is known of the class and the caller, for as long as they stay what they are.
    var prepared: Prepared?
    /// What it takes in memory beside what the client sent, in bytes, roughly.
    public internal(set) var weight = 0

    /// The condition and the rights, made ready for many changes.
    struct Prepared: Sendable {
        let caller: Caller
        let schemaVersion: Int
        /// When it was made ready.
        let moment: ParseDate
        let matcher: FilterMatcher
        let reader: ObjectReader
    }

    /// How the refusal of a condition ends that only the database can decide on.
    public static let needsDatabase = "can't be used in live queries"

    /// Fields that are sent whatever a client wants.
    static let always: Set<Name> = ["objectId", "createdAt", "updatedAt", "ACL"]

    /// The most paths that are included, and the most steps of each.
    private static let (mostIncludes, includeDepth) = (10, 3)

    /// Reads what a client subscribes to: `className`, `where`, `keys` (older clients: `fields`), `watch`, `include`.
    /// Anything else is no concern of live queries.
    ///
    /// - Throws: 103 or 102 for what cannot be read.
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
            throw ParseError(102, "include must be an array of fields")
        }
        let names = value.parameterNames
        try HardLimits.check(names.count, atMost: mostIncludes, "include fields")
        var paths: [[Name]] = []
        for name in names {
            let path = FieldPath(name)
            let depth = path.steps.count + 1
            guard depth <= includeDepth else {
                throw ParseError(102, "Include depth of \(depth) exceeds maximum allowed depth of \(includeDepth)")
            }
            guard !name.utf8.contains(UInt8(ascii: "*")), !path.root.isEmpty, !path.steps.contains(where: \.isEmpty)
            else { throw ParseError(102, "include must name fields: \(name)") }
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
            throw ParseError(102, "\(key) must be an array of fields")
        }
        try HardLimits.check(list.count, atMost: HardLimits.keys, key.text)
        return list.isEmpty ? nil : list.compactMap { $0.stringValue.map { FieldPath($0) } }
    }

    /// Whether objects are sent in place of pointers.
    public var hasIncludes: Bool { includeTree != nil }

    /// Whether the condition names one object: then it is a get, and a find otherwise.
    var isById: Bool { condition.count == 1 && condition["objectId"]?.stringValue != nil }

    /// What it asks for, and as whom, for administrators; a long condition is cut.
    public var overview: JSONObject {
        var overview: JSONObject = ["className": .string(className.text), "where": .object(condition)]
        let text = JSONValue.object(condition).text
        if text.utf8.count > 1_000 { overview["where"] = .string(text.prefix(500) + "\u{2026}") }
        overview["user"] = prepared?.caller.user.map { .string($0.id) }
        overview["keys"] = keys.map { .array($0.sorted().map { .string($0.text) }) }
        return overview
    }

    /// An object as it is sent: with the fields that are wanted, and its class.
    func selected(_ object: JSONObject) -> JSONObject {
        var selected: JSONObject = ["__type": "Object", "className": .string(className.text)]
        for (key, value) in object where keys?.contains(key) ?? true || Self.always.contains(key) {
            selected[key] = value
        }
        return selected
    }

    /// What stands at a dotted key: members of objects, and elements of lists by their numbers.
    private static func value(at path: FieldPath, in object: JSONObject) -> JSONValue? {
        path.steps.reduce(object[Name(path.root)]) { value, step in
            if let list = value?.arrayValue {
                return Int(step).flatMap { list.indices.contains($0) ? list[$0] : nil }
            }
            return value?.objectValue?[Name(step)]
        }
    }

    /// Whether what stands at one of the keys that are watched is another than before.
    ///
    /// - Throws: `FilterMatcherError.tooMuchWork`.
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

/// What a client gets of a change.
public struct LiveQueryEvent: Sendable {
    /// What became of the object, as far as the client sees it.
    public enum Kind: String, Sendable {
        /// It is new.
        case create
        /// It was there, and is now what the client wants.
        case enter
        /// It is still what the client wants.
        case update
        /// It is there, and no longer what the client wants, or may see.
        case leave
        /// It is gone.
        case delete
    }

    /// What became of the object.
    public let kind: Kind
    /// The object as it is; of one that is gone, or out of sight, as it was.
    public let object: JSONObject
    /// The object as it was before; nil where it was not there, or not visible.
    public let original: JSONObject?
}
