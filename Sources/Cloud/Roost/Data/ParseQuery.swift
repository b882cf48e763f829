import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What is asked for of a class.
///
/// ```swift
/// ParseQuery("Post").where("stars", .atLeast(3)).where("title", .exists(true)).order(by: "-createdAt").limit(10)
/// ```
public struct ParseQuery: Sendable, Equatable {
    /// The class.
    public let className: String
    /// The parameters as the REST interface takes them.
    public var parameters: JSONObject = [:]

    /// Asks for all objects of a class, a hundred at a time.
    public init(_ className: String) { self.className = className }

    init(_ className: String, _ parameters: JSONObject) {
        self.className = className
        self.parameters = parameters
    }

    /// The conditions, as the REST interface takes them.
    public var filter: JSONObject {
        get { parameters["where"]?.objectValue ?? [:] }
        set { parameters["where"] = .object(newValue) }
    }

    /// The most objects; nil for the server's own limit.
    public var limit: Int? {
        get { parameters["limit"]?.numberValue.flatMap { Int(exactly: $0) } }
        set { set("limit", newValue.map { JSONValue.number(Double($0)) }) }
    }

    /// How many are left out first.
    public var skip: Int {
        get { parameters["skip"]?.numberValue.flatMap { Int(exactly: $0) } ?? 0 }
        set { set("skip", newValue == 0 ? JSONValue?.none : .number(Double(newValue))) }
    }

    /// The order: fields, with a minus for the largest first.
    public var order: [String] {
        get { list("order") }
        set { setList("order", newValue) }
    }

    /// The pointers that are followed.
    public var include: [String] {
        get { list("include") }
        set { setList("include", newValue) }
    }

    /// The fields that are wanted; none for all.
    public var keys: [String] {
        get { list("keys") }
        set { setList("keys", newValue) }
    }

    /// The fields that are not wanted.
    public var excludeKeys: [String] {
        get { list("excludeKeys") }
        set { setList("excludeKeys", newValue) }
    }

    private func list(_ name: String) -> [String] {
        if let list = parameters[name]?.arrayValue { return list.compactMap(\.stringValue) }
        return parameters[name]?.stringValue?.split(separator: ",").map(String.init) ?? []
    }

    private mutating func setList(_ name: String, _ list: [String]) {
        set(name, list.isEmpty ? JSONValue?.none : .string(list.joined(separator: ",")))
    }

    /// Assigning nil would store a JSON null. This removes the parameter instead.
    private mutating func set(_ name: String, _ value: JSONValue?) {
        if let value { parameters[name] = value } else { parameters.removeValue(forKey: name) }
    }

    /// A condition on a field.
    public struct Condition: Sendable {
        let json: JSONValue

        /// It has a value, or has it among its elements. A date or a pointer is given as `JSONValue(date)`.
        public static func equals(_ value: JSONValue) -> Condition { Condition(json: value) }
        /// It has another value, or none.
        public static func notEquals(_ value: JSONValue) -> Condition { operation("$ne", value) }
        /// Less than.
        public static func lessThan(_ value: JSONValue) -> Condition { operation("$lt", value) }
        /// It is less, or the same.
        public static func atMost(_ value: JSONValue) -> Condition { operation("$lte", value) }
        /// More than.
        public static func greaterThan(_ value: JSONValue) -> Condition { operation("$gt", value) }
        /// It is more, or the same.
        public static func atLeast(_ value: JSONValue) -> Condition { operation("$gte", value) }
        /// One of the values.
        public static func isIn(_ values: [JSONValue]) -> Condition { operation("$in", .array(values)) }
        /// None of the values.
        public static func notIn(_ values: [JSONValue]) -> Condition { operation("$nin", .array(values)) }
        /// It is there, or it is not.
        public static func exists(_ exists: Bool) -> Condition { operation("$exists", .bool(exists)) }
        /// A regular expression finds it.
        public static func matches(_ pattern: String) -> Condition { operation("$regex", .string(pattern)) }

        /// A condition of the REST interface by its name.
        public static func operation(_ name: String, _ value: JSONValue) -> Condition {
            Condition(json: .object([Name(name): value]))
        }
    }

    /// The same with one condition more. Several on one field hold together.
    public func `where`(_ key: String, _ condition: Condition) -> ParseQuery {
        var query = self
        if case .object(let known)? = query.filter[key], case .object(let added) = condition.json,
            known.keys.allSatisfy({ $0.hasPrefix("$") }), added.keys.allSatisfy({ $0.hasPrefix("$") })
        {
            query.filter[key] = .object(known.merging(added) { $1 })
        } else {
            query.filter[key] = condition.json
        }
        return query
    }

    /// Sorts the results.
    public func order(by fields: String...) -> ParseQuery { with { $0.order = fields } }
    /// The same with at most so many objects.
    public func limit(_ limit: Int) -> ParseQuery { with { $0.limit = limit } }
    /// The same without the first so many.
    public func skip(_ skip: Int) -> ParseQuery { with { $0.skip = skip } }
    /// The same, following pointers.
    public func include(_ fields: String...) -> ParseQuery { with { $0.include += fields } }

    private func with(_ change: (inout ParseQuery) -> Void) -> ParseQuery {
        var query = self
        change(&query)
        return query
    }

    /// What changed since another state of the query: what is null is asked for no more.
    package func changes(since before: ParseQuery) -> JSONObject? {
        var changes: JSONObject = [:]
        for (name, value) in parameters where before.parameters[name] != value { changes[name] = value }
        for name in before.parameters.keys where parameters[name] == nil { changes[name] = .null }
        return changes.isEmpty ? nil : changes
    }
}

extension JSONValue {
    /// A pointer.
    public init(_ pointer: ParsePointer) {
        self = [
            "__type": "Pointer", "className": .string(pointer.className), "objectId": .string(pointer.objectId),
        ]
    }

    /// A date.
    public init(_ date: Date) { self = date.parseJSON }
}
