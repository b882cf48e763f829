import JSON

/// A value that a path leads to, as MongoDB goes: through the members of objects; in an array through every element
/// that is an object, and through the element at a place when the step is a number.
struct MatchedLeaf {
    /// The value; nil where the way ends before the path does.
    let value: JSONValue?
    /// Set for an array that is an element of another and was asked for by its place: it does not count by its elements.
    var isWhole = false

    /// Every value that a path leads to from an object or an array; none from other values.
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

    /// A place in an array: digits without a zero before them.
    private static func place(_ step: String) -> Int? {
        let digits = step.utf8
        guard !digits.isEmpty, digits.count <= 9, digits.allSatisfy({ (48...57).contains($0) }),
            digits.count == 1 || digits.first != UInt8(ascii: "0")
        else { return nil }
        return Int(step)
    }
}
