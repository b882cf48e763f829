import JSON

/// What a key of a condition leads to in one object.
struct MatchedValues {
    /// A value, or where the way to it ended.
    private struct Leaf {
        /// nil where the way ends before the path does.
        var value: JSONValue?
        /// Set for an array that is an element of another and was asked for by its place: it does not count by its
        /// elements.
        var isWhole = false
    }

    private let leaves: [Leaf]
    /// The type of the field, when the key is a field without steps.
    private let type: FieldType?

    init(_ path: FieldPath, of object: JSONObject, _ schema: ClassSchema) {
        let root = SystemClass.field(queriedAs: path.root)
        let field = schema.type(of: root)
        type = path.steps.isEmpty ? field : nil
        // Steps lead into objects and arrays only; a date or a pointer in a column of its own has no inside.
        guard let field, path.steps.isEmpty || field == .object || field == .array else {
            leaves = [Leaf(value: nil)]
            return
        }
        var found: [Leaf] = []
        Self.collect(.object(object), [root] + path.steps, 0, &found)
        leaves = found
    }

    private static func collect(_ container: JSONValue, _ path: [String], _ depth: Int, _ found: inout [Leaf]) {
        let step = path[depth]
        let list = container.arrayValue
        let next: JSONValue?
        if let list {
            guard let place = Int(step), String(place).hasSameBytes(as: step), list.indices.contains(place) else {
                return
            }
            next = list[place]
        } else {
            next = container.objectValue?[Name(step)]
        }
        if depth == path.count - 1 {
            found.append(Leaf(value: next, isWhole: list != nil && next?.arrayValue != nil))
            return
        }
        guard let next, next.objectValue != nil || next.arrayValue != nil else {
            if list == nil { found.append(Leaf(value: nil)) }
            return
        }
        // Through an array by the place in it, and through each of its objects.
        collect(next, path, depth + 1, &found)
        for element in next.arrayValue ?? [] where element.objectValue != nil {
            collect(element, path, depth + 1, &found)
        }
    }

    /// Whether there is a value, a null included.
    var isPresent: Bool { leaves.contains { $0.value != nil } }

    /// The values that a condition may be met by: those that stand there, and the elements of arrays among them.
    private var candidates: [JSONValue] {
        leaves.flatMap { leaf -> [JSONValue] in
            guard let value = leaf.value else { return [] }
            return [value] + (leaf.isWhole ? [] : value.arrayValue ?? [])
        }
    }

    /// The texts among them.
    var texts: [String] { candidates.compactMap { comparable($0).stringValue } }

    /// The points among them.
    var points: [GeoPoint] { type == .geoPoint ? leaves.compactMap { $0.value.flatMap(GeoPoint.init(json:)) } : [] }

    /// The corners of the polygons among them.
    var polygons: [[GeoPoint]] {
        guard type == .polygon else { return [] }
        return leaves.compactMap { leaf in
            leaf.value?["coordinates"]?.arrayValue?.compactMap { corner in
                guard let pair = corner.arrayValue, pair.count == 2, let latitude = pair[0].numberValue,
                    let longitude = pair[1].numberValue
                else { return nil }
                return GeoPoint(latitude: latitude, longitude: longitude)
            }
        }
    }

    /// Whether a value is among them; null asks for what is missing.
    func has(_ operand: JSONValue) -> Bool {
        // An array is there, whatever it holds.
        if operand.isNull { return leaves.contains { $0.value?.isNull ?? true } }
        let operand = comparable(operand)
        guard !operand.isNull else { return false }
        return candidates.contains { Self.areEqual(comparable($0), operand) }
    }

    /// Whether they are arrays, and have no element besides those of a list.
    func areContained(in list: [JSONValue]) -> Bool {
        let arrays = leaves.compactMap { $0.value?.arrayValue }
        return !arrays.isEmpty
            && arrays.joined().allSatisfy { element in list.contains { Self.areEqual(element, $0) } }
    }

    /// Whether one of them stands so to a value of the same type; values of different types have no order.
    func stand(_ comparison: Comparison, _ operand: JSONValue) -> Bool {
        guard type != .geoPoint, type != .polygon else { return false }
        let operand = comparable(operand)
        return candidates.contains { Self.stands(comparable($0), comparison, operand) }
    }

    /// Whether one of them, a date, stands so to a time in milliseconds since 1970.
    func stand(_ comparison: Comparison, milliseconds: Int64) -> Bool {
        guard type == .date else { return false }
        return leaves.contains { leaf in
            leaf.value.flatMap(Self.milliseconds).map { comparison.holds($0, milliseconds) } ?? false
        }
    }

    /// A value as its column holds it: a pointer is its id, a file its name and a date its time, so that plain texts equal
    /// them too.
    private func comparable(_ value: JSONValue) -> JSONValue {
        switch type {
        case .pointer: Pointer(json: value).map { .string($0.objectId) } ?? value
        case .file: value["__type"]?.stringValue == "File" ? value["name"] ?? value : value
        case .date: Self.milliseconds(value).map { .number(Double($0)) } ?? .null
        default: value
        }
    }

    /// The time that a date in either of its forms is.
    private static func milliseconds(_ value: JSONValue) -> Int64? {
        let iso = value["__type"]?.stringValue == "Date" ? value["iso"]?.stringValue : value.stringValue
        return iso.flatMap(ParseDate.init(iso:)).map(\.milliseconds)
    }

    /// Whether two values are equal; the order of an object's members does not count.
    static func areEqual(_ left: JSONValue, _ right: JSONValue) -> Bool {
        switch (left, right) {
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy(areEqual)
        case (.object(let left), .object(let right)):
            left.count == right.count
                && left.allSatisfy { key, value in right[key].map { areEqual(value, $0) } ?? false }
        default: left == right
        }
    }

    private static func stands(_ value: JSONValue, _ comparison: Comparison, _ operand: JSONValue) -> Bool {
        switch (value, operand) {
        case (.number(let left), .number(let right)): return comparison.holds(left, right)
        case (.string(let left), .string(let right)): return comparison.holds(Name(left), Name(right))
        case (.bool(let left), .bool(let right)): return comparison.holds(left ? 1 : 0, right ? 1 : 0)
        case (.object(let left), .object(let right)):
            guard left["__type"]?.stringValue == "Date", right["__type"]?.stringValue == "Date",
                let left = left["iso"]?.stringValue, let right = right["iso"]?.stringValue
            else { return false }
            return comparison.holds(Name(left), Name(right))
        default: return false
        }
    }
}

extension Comparison {
    /// Whether two values stand so to each other.
    func holds<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
        switch self {
        case .less: left < right
        case .lessOrEqual: left <= right
        case .greater: left > right
        case .greaterOrEqual: left >= right
        }
    }
}
