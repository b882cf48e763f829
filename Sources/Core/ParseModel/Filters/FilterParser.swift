import JSON

/// Parses a `where` into a ``Filter``. Unknown operators are rejected.
public struct FilterParser: Sendable {
    /// Limits on the shape of a query. A nil number means no limit.
    public struct Limits: Sendable {
        /// The maximum nesting of `$or`, `$and` and `$nor`.
        public var conditionDepth: Int?
        /// The maximum nesting of subqueries.
        public var subqueryDepth: Int?
        /// The maximum number of objects returned by a subquery.
        public var subqueryLimit: Int?
        /// Whether regular expressions are allowed at all.
        public var allowsRegex = true
        /// Whether regular expressions may have back-references.
        public var allowsBackReferences = false

        /// Creates the defaults: no limits beyond ``HardLimits``, and no back-references.
        public init() {}
    }

    /// Keys beginning with `_` that queries may use if ``isMaster`` is set.
    static let masterKeys = Set(SystemClass.internalUserFields.keys).union([
        "_rperm", "_wperm", "_created_at", "_updated_at", "_id",
    ])
    /// The maximum nesting of groups, and of subqueries, which protects the recursive parser. No query needs more.
    static let hardDepth = 100

    /// Whether the query has the rights of a privileged key, which allow internal keys and lift `limits`.
    public var isMaster: Bool
    public var limits: Limits
    /// The error code for unknown operators: 107 before parse-server 8, 102 since.
    public var unknownOperatorCode: Int
    /// Whether `$inQuery` and `$notInQuery` require a `where`, as in parse-server 5 to 8.
    public var requiresInnerCondition: Bool
    /// Whether the condition is a `$match`, which also allows `$size`, `$elemMatch`, `{"$date": …}` and the names of
    /// computed fields.
    public var isAggregation: Bool
    /// The time that relative dates refer to, in milliseconds since 1970.
    public var now: Int64

    public init(
        isMaster: Bool, now: Int64, limits: Limits = Limits(), unknownOperatorCode: Int = 102,
        requiresInnerCondition: Bool = false, isAggregation: Bool = false
    ) {
        self.isMaster = isMaster
        self.now = now
        self.limits = limits
        self.unknownOperatorCode = unknownOperatorCode
        self.requiresInnerCondition = requiresInnerCondition
        self.isAggregation = isAggregation
    }

    /// Parses a `where`.
    ///
    /// - Throws: 105 for an invalid key. 102 or 107, as in parse-server, for other errors.
    public func parse(_ object: JSONObject) throws(ParseError) -> Filter {
        let filter = try parse(object, depth: 0, subqueries: 0, insideNor: false)
        var size = FilterSize()
        try size.add(filter)
        return filter
    }

    func parse(_ object: JSONObject, depth: Int, subqueries: Int, insideNor: Bool) throws(ParseError) -> Filter {
        try check(depth: depth, limits.conditionDepth, "Query condition")
        var parts: [Filter] = []
        for (name, value) in object {
            let key = name.text
            switch key {
            case "$or", "$and", "$nor":
                parts.append(try group(key, value, depth: depth, subqueries: subqueries, insideNor: insideNor))
            case "$relatedTo" where !insideNor:
                parts.append(try related(value))
            case "ACL":
                throw ParseError(ParseError.invalidQuery, "Cannot query on ACL.")
            default:
                try check(key)
                let path = FieldPath(key)
                parts += Self.joined(try constraints(value, key: key, subqueries: subqueries), at: path)
            }
        }
        return parts.count == 1 ? parts[0] : .all(parts)
    }

    /// Returns the conditions on a field. As in parse-server, `$in` and `$inQuery` on the same field match the union of
    /// both.
    private static func joined(_ constraints: [Constraint], at path: FieldPath) -> [Filter] {
        func isMembership(_ constraint: Constraint) -> Bool {
            switch constraint {
            case .isIn, .inQuery: true
            default: false
            }
        }
        guard constraints.count(where: isMembership) > 1 else { return constraints.map { .field(path, $0) } }
        let members = constraints.filter(isMembership).map { Filter.field(path, $0) }
        return constraints.filter { !isMembership($0) }.map { .field(path, $0) } + [.any(members)]
    }

    func check(depth: Int, _ limit: Int?, _ what: String) throws(ParseError) {
        let greatest = isMaster ? Self.hardDepth : min(limit ?? Self.hardDepth, Self.hardDepth)
        guard depth > greatest else { return }
        throw ParseError(102, "\(what) nesting depth exceeds maximum allowed depth of \(greatest)")
    }

    func check(_ key: String) throws(ParseError) {
        try HardLimits.check(
            key.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: ".") ? 1 : 0) }, atMost: HardLimits.keyDepth,
            "dots in a key", code: ParseError.invalidKeyName)
        if isMaster, Self.masterKeys.contains(key) { return }
        // Pipelines compute fields such as `_size`.
        let name = isAggregation ? String(key.drop { $0 == "_" }) : key
        if Names.isQueryKey(name) && !name.contains("..") && !name.hasSuffix(".") { return }
        throw ParseError(ParseError.invalidKeyName, "Invalid key name: \(key)")
    }

    private func group(_ name: String, _ value: JSONValue, depth: Int, subqueries: Int, insideNor: Bool)
        throws(ParseError) -> Filter
    {
        guard let list = value.arrayValue, name != "$nor" || !list.isEmpty else {
            let form = name == "$nor" ? "an array of at least 1 value" : "an array value"
            throw ParseError(ParseError.invalidQuery, "Bad \(name) format - use \(form).")
        }
        var parts: [Filter] = []
        for element in list {
            guard let object = element.objectValue else {
                throw ParseError(ParseError.invalidQuery, "Bad \(name) format - use an array value.")
            }
            parts.append(
                try parse(
                    object, depth: depth + 1, subqueries: subqueries, insideNor: insideNor || name == "$nor"))
        }
        return switch name {
        case "$or": list.isEmpty ? .everything : .any(parts)
        case "$and": .all(parts)
        default: .none(parts)
        }
    }

    private func related(_ value: JSONValue) throws(ParseError) -> Filter {
        guard let object = value["object"], object["className"]?.stringValue != nil,
            let key = value["key"]?.stringValue
        else { throw ParseError(ParseError.invalidQuery, "improper usage of $relatedTo") }
        // An object that was never saved has no id and no related objects.
        guard let id = object["objectId"], !id.isNull else { return .any([]) }
        guard let owner = Pointer(json: object) else {
            throw ParseError(ParseError.invalidQuery, "improper usage of $relatedTo")
        }
        return .related(owner: owner, key: key)
    }

    /// Parses the value of a key: operators, or a value that the field must equal.
    func constraints(_ value: JSONValue, key: String, subqueries: Int) throws(ParseError) -> [Constraint] {
        guard let object = value.objectValue, object.keys.contains(where: { $0.hasPrefix("$") }) else {
            return [.equal(value)]
        }
        if isAggregation, object["$date"] != nil { return [.equal(try self.value(value, of: "$eq"))] }
        var constraints: [Constraint] = []
        // Plain keys next to operators, such as those of a pointer, form a separate equality.
        let plain = object.filter { !$0.key.hasPrefix("$") }
        if !plain.isEmpty { constraints.append(.equal(.object(plain))) }
        for (name, operand) in object where name.hasPrefix("$") {
            if let constraint = try constraint(name.text, operand, beside: object, key: key, subqueries: subqueries) {
                constraints.append(constraint)
            }
        }
        return constraints
    }

    private func constraint(
        _ name: String, _ operand: JSONValue, beside object: JSONObject, key: String, subqueries: Int
    ) throws(ParseError) -> Constraint? {
        switch name {
        case "$eq", "$ne", "$exists":
            guard operand["$relativeTime"] == nil else {
                throw ParseError(
                    107, "$relativeTime can only be used with the $lt, $lte, $gt, and $gte operators")
            }
            let value = try value(operand, of: name)
            if name == "$exists" { return .exists(value.isTruthy) }
            return name == "$eq" ? .equal(value) : .notEqual(value)
        case "$lt", "$lte", "$gt", "$gte":
            guard let comparison = Comparison(rawValue: name) else { return nil }
            if let relative = operand["$relativeTime"] {
                return .compareRelative(comparison, milliseconds: try RelativeTime.parse(relative, now: now))
            }
            return .compare(comparison, try value(operand, of: name))
        case "$in", "$nin":
            guard let list = operand.arrayValue else { throw ParseError(107, "bad \(name) value") }
            // Flattens one level of nesting, for `$in` with arrays from another query's result.
            let values = try values(list.flatMap { $0.arrayValue ?? [$0] }, of: name)
            return name == "$in" ? .isIn(values) : .notIn(values)
        case "$all":
            return try all(operand)
        case "$containedBy":
            guard let list = operand.arrayValue else {
                throw ParseError(107, "bad $containedBy: should be an array")
            }
            return .containedBy(try values(list, of: name))
        case "$regex":
            return try regex(operand, options: object["$options"])
        case "$options":
            guard object["$regex"] == nil else { return nil }
            throw ParseError(ParseError.invalidQuery, "Bad $options value for query: \(operand.text)")
        case "$text":
            return .text(try textSearch(operand))
        case "$nearSphere", "$within", "$geoWithin", "$geoIntersects":
            return try GeoConstraint.parse(name, operand, beside: object)
        case "$maxDistance", "$maxDistanceInRadians", "$maxDistanceInMiles", "$maxDistanceInKilometers":
            return nil
        case "$inQuery", "$notInQuery", "$select", "$dontSelect":
            return try subquery(name, operand, depth: subqueries + 1)
        case "$size" where isAggregation:
            guard let number = operand.numberValue, let size = Int(exactly: number), size >= 0 else {
                throw ParseError(ParseError.invalidQuery, "$size must be a whole number of at least 0")
            }
            return .size(size)
        case "$elemMatch" where isAggregation:
            return try elementMatch(operand, key: key)
        default:
            throw ParseError(unknownOperatorCode, "bad constraint: \(name)")
        }
    }

    /// Checks an operator's operand. It may contain another operator only in a pipeline, and only as `{"$date": …}`.
    ///
    /// - Throws: 102 for other operators, since they would match nothing.
    private func value(_ operand: JSONValue, of name: String) throws(ParseError) -> JSONValue {
        switch operand {
        case .object(let object):
            guard let key = object.keys.first(where: { $0.hasPrefix("$") }) else { return operand }
            if isAggregation, let date = ParseDate(extended: object) { return date.json }
            let reason = key == "$date" && isAggregation ? "is not a valid date" : "is not supported as a value"
            throw ParseError(ParseError.invalidQuery, "bad \(name) value: \(key) \(reason)")
        case .array(let list): return .array(try values(list, of: name))
        case .null, .bool, .number, .string: return operand
        }
    }

    func values(_ list: [JSONValue], of name: String) throws(ParseError) -> [JSONValue] {
        var values = list
        for (index, element) in list.enumerated() where element.objectValue != nil {
            values[index] = try value(element, of: name)
        }
        return values
    }

    /// Parses `$elemMatch`: operators for the element itself, or a condition on the members of an object element.
    private func elementMatch(_ operand: JSONValue, key: String) throws(ParseError) -> Constraint {
        guard let object = operand.objectValue else {
            throw ParseError(ParseError.invalidQuery, "$elemMatch needs an Object")
        }
        let groups: Set<Name> = ["$or", "$and", "$nor"]
        let isOperators = object.elements.first.map { $0.key.hasPrefix("$") && !groups.contains($0.key) } ?? false
        let constraints = isOperators ? try constraints(operand, key: key, subqueries: 0) : []
        let filter = isOperators ? .everything : try parse(object, depth: 0, subqueries: 0, insideNor: true)
        // Subqueries and relations refer to objects of a class, which an element isn't.
        let leaves = constraints.map { Filter.field(FieldPath(key), $0) }
        guard !Filter.all(leaves + [filter]).hasSubqueries else {
            throw ParseError(ParseError.invalidQuery, "$elemMatch can't contain a subquery")
        }
        return isOperators ? .someElement(constraints) : .someObject(filter)
    }
}
