import JSON

/// A value that a path leads to, as MongoDB finds them.
struct DifferentialLeaf {
    /// The value; nil where the way ends before the path does.
    let value: JSONValue?
    /// Set for an array that is an element of another and was asked for by its place: it does not count by its elements.
    var isWhole = false

    /// Every value that a path leads to from an object or an array; none from other values.
    static func all(_ container: JSONValue, _ path: ArraySlice<String>) -> [DifferentialLeaf] {
        guard let step = path.first else { return [] }
        let list = container.arrayValue
        let next: JSONValue?
        if let list {
            guard let place = place(step), list.indices.contains(place) else { return [] }
            next = list[place]
        } else {
            next = container[step]
        }
        let rest = path.dropFirst()
        if rest.isEmpty { return [DifferentialLeaf(value: next, isWhole: list != nil && next?.arrayValue != nil)] }
        guard let next, next.objectValue != nil || next.arrayValue != nil else {
            return list == nil ? [DifferentialLeaf(value: nil)] : []
        }
        // Through an array by the place in it, and through each of its objects.
        let elements = (next.arrayValue ?? []).filter { $0.objectValue != nil }
        return all(next, rest) + elements.flatMap { all($0, rest) }
    }

    private static func place(_ step: String) -> Int? { Int(step).flatMap { String($0) == step ? $0 : nil } }
}
