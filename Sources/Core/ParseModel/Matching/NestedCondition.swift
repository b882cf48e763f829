import JSON

/// A condition on values inside objects and arrays, prepared for matching many objects.
enum NestedCondition {
    case never
    /// A value at the path is null or missing. An array is neither, whatever it contains.
    case isNull
    case exists(Bool)
    /// A value at the path equals one of these, or is null or missing if `orNull` is set.
    case hasAny(Set<UnorderedValue>, hasContainers: Bool, orNull: Bool)
    /// An array contains this pointer, even if it was stored with more members.
    case hasPointer(JSONObject)
    /// At least one value at the path is an array, and all arrays there contain only these values.
    case containedBy(Set<UnorderedValue>)
    case stands(Comparison, JSONValue)
    case isFound(TextPattern)
    case startsWith([Name])

    /// - Parameters:
    ///   - isList: Whether the condition is on an array field itself, not on a path inside it.
    ///   - weight: Counts the steps of patterns.
    init(_ constraint: Constraint, isList: Bool, _ weight: inout MatcherWeight) throws(FilterMatcherError) {
        switch constraint {
        case .equal(.null): self = .isNull
        case .equal(let value):
            if isList, let object = value.objectValue, Pointer(json: value) != nil {
                self = .hasPointer(object)
            } else {
                self = Self.membership([value])
            }
        case .isIn(let values): self = Self.membership(values)
        case .exists(let exists): self = .exists(exists)
        case .containedBy(let values): self = .containedBy(Set(values.map { UnorderedValue($0) }))
        case .compare(let comparison, let value):
            guard value["__type"]?.stringValue == "Date" else {
                self = .stands(comparison, value)
                return
            }
            // Dates inside other values are compared as strings, as the database does.
            let date = value["iso"]?.stringValue.flatMap(ParseDate.init(iso:))
            self = date.map { .stands(comparison, $0.json) } ?? .never
        case .compareRelative: throw .invalid(RelativeTime.needsDate)
        case .regex(let pattern, let options):
            self = .isFound(try TextPattern(pattern, options: options, &weight))
        case .containsAllStarting(let prefixes): self = prefixes.isEmpty ? .never : .startsWith(prefixes.names)
        case .text, .near, .box, .insidePolygon, .insideCircle, .polygonContains, .notEqual, .notIn, .containsAll,
            .inQuery, .notInQuery, .size, .someElement, .someObject:
            self = .never
        }
    }

    private static func membership(_ values: [JSONValue]) -> NestedCondition {
        let present = values.filter { !$0.isNull }
        return .hasAny(
            Set(present.map { UnorderedValue($0) }),
            hasContainers: present.contains { $0.arrayValue != nil || $0.objectValue != nil },
            orNull: present.count < values.count)
    }

    /// Whether the values that a key leads to meet the condition.
    func holds(_ leaves: [MatchedLeaf], _ budget: inout MatchBudget) throws(FilterMatcherError) -> Bool {
        switch self {
        case .never: return false
        case .isNull: return leaves.contains { $0.value?.isNull ?? true }
        case .exists(let exists): return leaves.contains { $0.value != nil } == exists
        case .hasAny(let values, let hasContainers, let orNull):
            if orNull, leaves.contains(where: { $0.value?.isNull ?? true }) { return true }
            return try Self.someValue(leaves, &budget) { value, budget throws(FilterMatcherError) in
                if value.arrayValue != nil || value.objectValue != nil {
                    guard hasContainers else { return false }
                }
                try budget.spend(UnorderedValue.weight(value))
                return values.contains(UnorderedValue(value))
            }
        case .hasPointer(let pointer):
            return try Self.someValue(leaves, &budget) { value, budget throws(FilterMatcherError) in
                guard let object = value.objectValue else { return false }
                try budget.spend(pointer.values.reduce(pointer.count) { $0 + UnorderedValue.weight($1) })
                return pointer.allSatisfy { key, part in
                    object[key].map { UnorderedValue($0) == UnorderedValue(part) } ?? false
                }
            }
        case .containedBy(let values):
            let arrays = leaves.compactMap { $0.value?.arrayValue }
            for element in arrays.joined() {
                try budget.spend(UnorderedValue.weight(element))
                guard values.contains(UnorderedValue(element)) else { return false }
            }
            return !arrays.isEmpty
        case .stands(let comparison, let operand):
            return try Self.someValue(leaves, &budget) { value, budget throws(FilterMatcherError) in
                if let text = value.nameValue, let other = operand.nameValue {
                    try budget.spend(comparing: text, other)
                }
                return Self.stands(value, comparison, operand)
            }
        case .isFound(let pattern):
            return try Self.someValue(leaves, &budget) { value, budget throws(FilterMatcherError) in
                guard let text = value.stringValue else { return false }
                return try pattern.isFound(in: text, &budget)
            }
        case .startsWith(let prefixes):
            for prefix in prefixes {
                let isThere = try Self.someValue(leaves, &budget) { value, budget throws(FilterMatcherError) in
                    guard let text = value.nameValue else { return false }
                    try budget.spend(comparing: text, prefix)
                    return text.hasPrefix(prefix)
                }
                guard isThere else { return false }
            }
            return true
        }
    }

    /// Whether a value, or an element of an array among the values, meets a condition.
    private static func someValue(
        _ leaves: [MatchedLeaf], _ budget: inout MatchBudget,
        _ condition: (JSONValue, inout MatchBudget) throws(FilterMatcherError) -> Bool
    ) throws(FilterMatcherError) -> Bool {
        for leaf in leaves {
            guard let value = leaf.value else { continue }
            try budget.spend(1)
            if try condition(value, &budget) { return true }
            guard !leaf.isWhole, let elements = value.arrayValue else { continue }
            for element in elements {
                try budget.spend(1)
                if try condition(element, &budget) { return true }
            }
        }
        return false
    }

    /// Whether a comparison is true. Only two numbers, two strings, two Booleans or two dates have an order.
    private static func stands(_ value: JSONValue, _ comparison: Comparison, _ operand: JSONValue) -> Bool {
        switch (value, operand) {
        case (.number(let left), .number(let right)): return comparison.holds(left, right)
        case (.string(let left), .string(let right)): return comparison.holds(Name(left), Name(right))
        case (.bool(let left), .bool(let right)): return comparison.holds(left ? 1 : 0, right ? 1 : 0)
        case (.object(let left), .object(let right)):
            guard left["__type"] == "Date", right["__type"] == "Date", let left = left["iso"]?.nameValue,
                let right = right["iso"]?.nameValue
            else { return false }
            return comparison.holds(left, right)
        default: return false
        }
    }
}

/// A value that a path leads to, by MongoDB's rules: a step selects a member of an object, an element of an array by
/// index, or a member of every object in an array.
struct MatchedLeaf {
    /// The value, or nil if the path doesn't exist.
    let value: JSONValue?
    /// Whether the value is an array selected by index from another array. Its elements don't match separately.
    var isWhole = false

    /// Returns every value that a path leads to from an object or an array.
    static func all(_ container: JSONValue, _ path: ArraySlice<String>, _ budget: inout MatchBudget)
        throws(FilterMatcherError) -> [MatchedLeaf]
    {
        guard let step = path.first else { return [] }
        try budget.spend(1)
        let list = container.arrayValue
        let next: JSONValue?
        if let list {
            guard let place = place(step), place < list.count else { return [] }
            next = list[place]
        } else {
            next = container[step]
        }
        let rest = path.dropFirst()
        if rest.isEmpty { return [MatchedLeaf(value: next, isWhole: list != nil && next?.arrayValue != nil)] }
        guard let next, next.objectValue != nil || next.arrayValue != nil else {
            return list == nil ? [MatchedLeaf(value: nil)] : []
        }
        var leaves = try all(next, rest, &budget)
        guard let elements = next.arrayValue else { return leaves }
        try budget.spend(elements.count)
        for element in elements where element.objectValue != nil { leaves += try all(element, rest, &budget) }
        return leaves
    }

    private static func place(_ step: String) -> Int? {
        let digits = step.utf8
        guard !digits.isEmpty, digits.count <= 9, digits.allSatisfy({ (48...57).contains($0) }),
            digits.count == 1 || digits.first != UInt8(ascii: "0")
        else { return nil }
        return Int(step)
    }
}

/// A JSON value that is compared as in the database: the order of an object's members doesn't matter, and strings are
/// compared by bytes.
public struct UnorderedValue: Hashable, Sendable {
    public let value: JSONValue

    public init(_ value: JSONValue) { self.value = value }

    public static func == (left: UnorderedValue, right: UnorderedValue) -> Bool { areSame(left.value, right.value) }

    public func hash(into hasher: inout Hasher) { Self.hash(value, into: &hasher) }

    private static func areSame(_ left: JSONValue, _ right: JSONValue) -> Bool {
        switch (left, right) {
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { areSame($0, $1) }
        case (.object(let left), .object(let right)):
            left.count == right.count
                && left.allSatisfy { key, value in right[key].map { areSame(value, $0) } ?? false }
        default: left == right
        }
    }

    private static func hash(_ value: JSONValue, into hasher: inout Hasher) {
        switch value {
        case .array(let list):
            hasher.combine(list.count)
            for element in list { hash(element, into: &hasher) }
        case .object(let object):
            // The sum doesn't depend on the order.
            var sum = object.count
            for (key, member) in object {
                var inner = Hasher()
                inner.combine(key)
                hash(member, into: &inner)
                sum &+= inner.finalize()
            }
            hasher.combine(sum)
        default: hasher.combine(value)
        }
    }

    /// Returns the cost of comparing the value, in steps of a ``MatchBudget``.
    static func weight(_ value: JSONValue) -> Int {
        switch value {
        case .null, .bool, .number: 1
        case .string(let text): 1 + text.utf8.count >> 5
        case .array(let list): list.reduce(1) { $0 + weight($1) }
        case .object(let object): object.values.reduce(1 + object.count) { $0 + weight($1) }
        }
    }
}
