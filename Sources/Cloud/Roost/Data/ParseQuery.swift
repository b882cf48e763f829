import JSON
import Platform

/// A query for objects of a class.
///
/// ```swift
/// ParseQuery("Post").where("stars", .atLeast(3)).where("title", .exists(true)).order(by: "-createdAt").limit(10)
/// ```
public struct ParseQuery: Sendable, Equatable {
    public let className: String
    /// The query parameters in the format of the REST interface.
    public var parameters: JSONObject = [:]

    /// Creates a query for all objects of a class. The server's default limit applies unless ``limit`` is set.
    public init(_ className: String) { self.className = className }

    init(_ className: String, _ parameters: JSONObject) {
        self.className = className
        self.parameters = parameters
    }

    /// The conditions (`where`) in the format of the REST interface.
    public var filter: JSONObject {
        get { parameters["where"]?.objectValue ?? [:] }
        set { parameters["where"] = .object(newValue) }
    }

    /// The maximum number of results, or nil for the server's default.
    public var limit: Int? {
        get { parameters["limit"]?.numberValue.flatMap { Int(exactly: $0) } }
        set { set("limit", newValue.map { JSONValue.number(Double($0)) }) }
    }

    /// The number of results to skip.
    public var skip: Int {
        get { parameters["skip"]?.numberValue.flatMap { Int(exactly: $0) } ?? 0 }
        set { set("skip", newValue == 0 ? JSONValue?.none : .number(Double(newValue))) }
    }

    /// The fields to sort by. A leading minus sorts in descending order.
    public var order: [String] {
        get { list("order") }
        set { setList("order", newValue) }
    }

    /// The pointer fields whose objects are included in the results.
    public var include: [String] {
        get { list("include") }
        set { setList("include", newValue) }
    }

    /// The fields to return, or all fields if empty.
    public var keys: [String] {
        get { list("keys") }
        set { setList("keys", newValue) }
    }

    /// The fields to leave out of the results.
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

    /// Removes the parameter if `value` is nil. A plain assignment would store a JSON null.
    private mutating func set(_ name: String, _ value: JSONValue?) {
        if let value { parameters[name] = value } else { parameters.removeValue(forKey: name) }
    }

    /// A condition on a field, for ``where(_:_:)``.
    public struct Condition: Sendable {
        let json: JSONValue

        /// The field equals the value or, if it is an array, contains it. Pass dates and pointers as `JSONValue(date)`
        /// or `JSONValue(pointer)`.
        public static func equals(_ value: JSONValue) -> Condition { Condition(json: value) }
        /// The field differs from the value or isn't set.
        public static func notEquals(_ value: JSONValue) -> Condition { operation("$ne", value) }
        /// The field is less than the value.
        public static func lessThan(_ value: JSONValue) -> Condition { operation("$lt", value) }
        /// The field is less than or equal to the value.
        public static func atMost(_ value: JSONValue) -> Condition { operation("$lte", value) }
        /// The field is greater than the value.
        public static func greaterThan(_ value: JSONValue) -> Condition { operation("$gt", value) }
        /// The field is greater than or equal to the value.
        public static func atLeast(_ value: JSONValue) -> Condition { operation("$gte", value) }
        /// The field equals one of the values.
        public static func isIn(_ values: [JSONValue]) -> Condition { operation("$in", .array(values)) }
        /// The field equals none of the values.
        public static func notIn(_ values: [JSONValue]) -> Condition { operation("$nin", .array(values)) }
        /// The field is set or, with `false`, isn't set.
        public static func exists(_ exists: Bool) -> Condition { operation("$exists", .bool(exists)) }
        /// The field matches a regular expression.
        public static func matches(_ pattern: String) -> Condition { operation("$regex", .string(pattern)) }

        /// Returns a condition with any operator of the REST interface, for example `$nearSphere`.
        public static func operation(_ name: String, _ value: JSONValue) -> Condition {
            Condition(json: .object([Name(name): value]))
        }
    }

    /// Adds a condition. Different operators on a field must all hold, and a repeated operator replaces its earlier
    /// value. An equality condition and operators replace each other.
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

    /// Sets the fields to sort by. A leading minus sorts in descending order.
    public func order(by fields: String...) -> ParseQuery { with { $0.order = fields } }
    /// Sets the maximum number of results.
    public func limit(_ limit: Int) -> ParseQuery { with { $0.limit = limit } }
    /// Sets the number of results to skip.
    public func skip(_ skip: Int) -> ParseQuery { with { $0.skip = skip } }
    /// Adds pointer fields whose objects are included in the results.
    public func include(_ fields: String...) -> ParseQuery { with { $0.include += fields } }

    private func with(_ change: (inout ParseQuery) -> Void) -> ParseQuery {
        var query = self
        change(&query)
        return query
    }

    /// Returns the parameters that changed since `before`, with null for removed ones, or nil if none changed.
    package func changes(since before: ParseQuery) -> JSONObject? {
        var changes: JSONObject = [:]
        for (name, value) in parameters where before.parameters[name] != value { changes[name] = value }
        for name in before.parameters.keys where parameters[name] == nil { changes[name] = .null }
        return changes.isEmpty ? nil : changes
    }
}

extension JSONValue {
    /// Encodes a pointer in Parse's format, for conditions and fields.
    public init(_ pointer: ParsePointer) {
        self = [
            "__type": "Pointer", "className": .string(pointer.className), "objectId": .string(pointer.objectId),
        ]
    }

    /// Encodes a date in Parse's format, for conditions and fields.
    public init(_ date: Date) { self = date.parseJSON }
}
