import JSON
import ParseModel

/// Says whether an object fulfils a `where`, straight from the JSON of both: MongoDB's rules, and Parse's on top.
///
/// It shares nothing with the server's parser and compiler, so that an error in either shows.
struct DifferentialMatcher {
    let subject: DifferentialClass

    func matches(_ condition: JSONObject, _ row: JSONObject) -> Bool {
        condition.allSatisfy { key, operand in
            let parts = (operand.arrayValue ?? []).compactMap(\.objectValue)
            switch key {
            case "$or": return parts.contains { matches($0, row) }
            case "$and": return parts.allSatisfy { matches($0, row) }
            case "$nor": return !parts.contains { matches($0, row) }
            default: return matches(key.text, operand, row)
            }
        }
    }

    private func matches(_ key: String, _ operand: JSONValue, _ row: JSONObject) -> Bool {
        let place = Place(key, row, subject)
        guard let object = operand.objectValue, object["__type"] == nil,
            object.keys.contains(where: { $0.hasPrefix("$") })
        else { return place.equals(operand) }
        let plain = object.filter { !$0.key.hasPrefix("$") }
        if !plain.isEmpty, !place.equals(.object(plain)) { return false }
        return object.allSatisfy { name, operand in
            !name.hasPrefix("$") || place.fulfils(name.text, operand, options: object["$options"]?.stringValue ?? "")
        }
    }

    /// Whether two values are equal; the order of an object's members does not count.
    static func same(_ left: JSONValue, _ right: JSONValue) -> Bool {
        switch (left, right) {
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy(same)
        case (.object(let left), .object(let right)):
            left.count == right.count
                && left.allSatisfy { key, value in right[key].map { same(value, $0) } ?? false }
        default: left == right
        }
    }
}

/// What a key leads to in one object.
private struct Place {
    /// The values that stand there.
    let leaves: [DifferentialLeaf]
    /// The type of the column, when the key is a field without steps.
    let type: FieldType?

    init(_ key: String, _ row: JSONObject, _ subject: DifferentialClass) {
        let path = key.split(separator: ".").map(String.init)
        let field = subject.fields[path[0]]?.type
        let isNested = path.count > 1
        type = isNested ? nil : field
        // Steps lead into objects and arrays only; a date or a pointer in a column of its own has no inside.
        guard field != nil, !isNested || field == .object || field == .array else {
            leaves = [DifferentialLeaf(value: nil)]
            return
        }
        leaves = DifferentialLeaf.all(.object(row), path[...])
    }

    /// The values that a condition may be met by: those that stand there, and the elements of arrays among them.
    private var candidates: [JSONValue] {
        leaves.flatMap { leaf -> [JSONValue] in
            guard let value = leaf.value else { return [] }
            return [value] + (leaf.isWhole ? [] : value.arrayValue ?? [])
        }
    }

    func equals(_ operand: JSONValue) -> Bool {
        if operand.isNull {
            // A null asks for what is missing; an array is there, whatever it holds.
            return leaves.contains { $0.value?.isNull ?? true }
        }
        let operand = comparable(operand)
        return candidates.contains { DifferentialMatcher.same(comparable($0), operand) }
    }

    /// A value as its column holds it: a pointer is its id and a file its name, so that plain texts equal them too.
    private func comparable(_ value: JSONValue) -> JSONValue {
        switch type {
        case .pointer: Pointer(json: value).map { .string($0.objectId) } ?? value
        case .file: value["__type"] == "File" ? value["name"] ?? value : value
        default: value
        }
    }

    func fulfils(_ name: String, _ operand: JSONValue, options: String) -> Bool {
        let list = operand.arrayValue ?? []
        switch name {
        case "$eq": return equals(operand)
        case "$ne": return !equals(operand)
        case "$in": return Self.flattened(list).contains(where: equals)
        case "$nin": return !Self.flattened(list).contains(where: equals)
        case "$exists": return leaves.contains { $0.value != nil } == (operand == true)
        case "$all":
            return !list.isEmpty
                && list.allSatisfy { element in
                    element["$regex"]?.stringValue.map { finds($0, options: "") } ?? equals(element)
                }
        case "$containedBy":
            // Only arrays are asked, all of them; a missing one is no array.
            let arrays = leaves.compactMap { $0.value?.arrayValue }
            return !arrays.isEmpty
                && arrays.joined().allSatisfy { element in list.contains { same(element, $0) } }
        case "$regex": return finds(operand.stringValue ?? "", options: options)
        case "$options": return true
        default: return candidates.contains { Self.stands(comparable($0), name, comparable(operand)) }
        }
    }

    private func same(_ left: JSONValue, _ right: JSONValue) -> Bool { DifferentialMatcher.same(left, right) }

    /// One level of lists inside the list of `$in` counts as if its elements stood in the list itself.
    private static func flattened(_ list: [JSONValue]) -> [JSONValue] { list.flatMap { $0.arrayValue ?? [$0] } }

    /// Whether a value stands so to another of the same type; values of different types have no order.
    private static func stands(_ value: JSONValue, _ name: String, _ operand: JSONValue) -> Bool {
        func ordered<T: Comparable>(_ left: T, _ right: T) -> Bool {
            switch name {
            case "$lt": left < right
            case "$lte": left <= right
            case "$gt": left > right
            default: left >= right
            }
        }
        switch (value, operand) {
        case (.number(let left), .number(let right)): return ordered(left, right)
        case (.string(let left), .string(let right)): return ordered(left, right)
        case (.bool(let left), .bool(let right)): return ordered(left ? 1 : 0, right ? 1 : 0)
        case (.object(let left), .object(let right)):
            guard left["__type"] == "Date", right["__type"] == "Date", let left = left["iso"]?.stringValue,
                let right = right["iso"]?.stringValue
            else { return false }
            return ordered(left, right)
        default: return false
        }
    }

    /// Whether a text here is found by a pattern of the few forms that the generator makes: `^`, a literal, `$`.
    private func finds(_ pattern: String, options: String) -> Bool {
        var literal = Substring(pattern)
        let isStart = literal.hasPrefix("^")
        if isStart { literal = literal.dropFirst() }
        let isEnd = literal.hasSuffix("$")
        if isEnd { literal = literal.dropLast() }
        if literal.hasPrefix("\\Q") { literal = literal.dropFirst(2).dropLast(2) }
        func folded(_ text: some StringProtocol) -> String { options.contains("i") ? text.lowercased() : String(text) }
        let sought = folded(literal)
        return candidates.contains { candidate in
            guard let text = comparable(candidate).stringValue.map(folded) else { return false }
            switch (isStart, isEnd) {
            case (true, true): return text == sought
            case (true, false): return text.hasPrefix(sought)
            case (false, true): return text.hasSuffix(sought)
            case (false, false): return sought.isEmpty || text.contains(sought)
            }
        }
    }
}
