public import JSON
public import ParseModel

/// Judges what is asked of a class by an operator who is limited to some: every class and field that a request names must
/// be one that the operator knows. Requests are read by what reads them later, so that both understand the same.
public struct LimitedReads: Sendable {
    private let schema: @Sendable (Name) -> ClassSchema?

    /// What a find may say, and what a get.
    private static let findParameters: Set<Name> = [
        "where", "order", "limit", "skip", "count", "keys", "excludeKeys", "include",
    ]
    private static let getParameters: Set<Name> = ["keys", "excludeKeys", "include"]

    /// - Parameters:
    ///   - limits: What the operator knows.
    ///   - schema: A class by its name; nil for one that there is not.
    public init(_ limits: OperatorLimits, schema: @escaping @Sendable (Name) -> ClassSchema?) {
        self.schema = { limits.schema(schema($0)) }
    }

    /// Checks a find, or a get.
    ///
    /// - Throws: 119 for what the operator does not know; 102 and more for what makes no sense.
    public func check(_ parameters: JSONObject, of className: Name, isGet: Bool) throws(ParseError) {
        let known = isGet ? Self.getParameters : Self.findParameters
        if let other = parameters.keys.first(where: { !known.contains($0) }) { throw Self.unknown("\(other)") }
        let schema = try knownClass(className)
        let options = isGet ? try FindOptions(get: parameters) : try FindOptions(find: parameters)
        guard !options.includesAll else { throw Self.unknown("includeAll") }
        for path in (options.keys ?? []) + options.excluded { try check(path, of: schema) }
        for path in options.includes { try check(path, of: schema, isInclude: true) }
        try check(options.order, of: schema)
        // Internal columns, such as hashes of passwords, are no client's to ask for.
        try check(FilterParser(isMaster: false, now: 0).parse(options.condition), of: schema)
    }

    /// Checks what is written: fields, and the objects that values point to.
    ///
    /// - Throws: 119 for what the operator does not know.
    public func check(writing body: JSONObject, to className: Name) throws(ParseError) {
        let schema = try knownClass(className)
        for (key, value) in body {
            let root = Name(FieldPath(key).root)
            guard schema.fields[root] != nil else { throw Self.unknown("\(className).\(root)") }
            try check(written: value)
        }
    }

    /// The refusal of what the operator does not know.
    public static func unknown(_ what: String) -> ParseError {
        ParseError(ParseError.operationForbidden, "You are limited to some classes and fields: not \(what).")
    }

    private func knownClass(_ name: Name) throws(ParseError) -> ClassSchema {
        guard let schema = schema(name) else { throw Self.unknown("\(name)") }
        return schema
    }

    private func check(_ path: FieldPath, of schema: ClassSchema) throws(ParseError) {
        guard let field = schema.fields[Name(path.root)] else { throw Self.unknown("\(schema.name).\(path.root)") }
        // Nothing leads from one object to another here.
        guard path.steps.isEmpty || field.type.targetClass == nil else { throw Self.unknown(path.text) }
    }

    private func check(_ order: [SortKey], of schema: ClassSchema) throws(ParseError) {
        for key in order { try check(key.path, of: schema) }
    }

    /// A path of `keys` or `include`, which leads from object to object by pointers alone: lists may hold any.
    private func check(_ path: [Name], of schema: ClassSchema, isInclude: Bool = false) throws(ParseError) {
        guard let root = path.first else { return }
        guard let field = schema.fields[root] else { throw Self.unknown("\(schema.name).\(root)") }
        guard isInclude || path.count > 1 else { return }
        guard case .pointer(let target) = field.type else { throw Self.unknown("\(root)") }
        try check(Array(path.dropFirst()), of: try knownClass(target), isInclude: isInclude)
    }

    private func check(_ filter: Filter, of schema: ClassSchema) throws(ParseError) {
        switch filter {
        case .all(let parts), .any(let parts), .none(let parts):
            for part in parts { try check(part, of: schema) }
        case .related(let owner, let key):
            try check(FieldPath(key), of: knownClass(Name(owner.className)))
        case .field(let path, let constraint):
            try check(path, of: schema)
            switch constraint {
            case .inQuery(let query), .notInQuery(let query): try check(query)
            case .equal, .notEqual, .compare, .compareRelative, .isIn, .notIn, .containsAll, .containsAllStarting,
                .containedBy, .exists, .regex, .text, .near, .box, .insidePolygon, .insideCircle, .polygonContains:
                break
            case .size, .someElement, .someObject: throw Self.unknown(path.text)
            }
        }
    }

    private func check(_ query: Subquery) throws(ParseError) {
        let schema = try knownClass(Name(query.className))
        guard query.redirectKey == nil else { throw Self.unknown("redirectClassNameForKey") }
        if let key = query.key { try check(key, of: schema) }
        try check(query.order, of: schema)
        try check(query.filter, of: schema)
    }

    private func check(written value: JSONValue) throws(ParseError) {
        switch value {
        case .array(let list): for element in list { try check(written: element) }
        case .object(let object):
            if object["__type"] != nil, let className = object["className"] {
                guard let name = className.nameValue else { throw Self.unknown(className.text) }
                _ = try knownClass(name)
            }
            for inner in object.values { try check(written: inner) }
        default: break
        }
    }
}
