public import JSON

/// Access to nested values by the paths of dotted keys.
extension JSONValue {
    /// Sets the value at a path. Creates objects where the path doesn't exist or can't be followed, and fills lists
    /// with nulls up to the index. In a list, a step of up to six digits is an index.
    ///
    /// - Returns: The number of nulls inserted, or nil if the value wasn't set because a list would need more than
    ///   ``HardLimits/filledElements`` nulls.
    @discardableResult
    public mutating func set(_ value: JSONValue, at steps: ArraySlice<String>) -> Int? {
        guard let step = steps.first else {
            self = value
            return 0
        }
        if case .array(var list) = self, let place = Self.place(step) {
            let missing = max(0, place - list.count)
            guard missing <= HardLimits.filledElements else { return nil }
            // Releases the other reference, so that the list is changed without copying it.
            self = .null
            if list.count <= place { list += Array(repeating: .null, count: place + 1 - list.count) }
            let filled = list[place].set(value, at: steps.dropFirst())
            self = .array(list)
            return filled.map { $0 + missing }
        }
        var object = objectValue ?? [:]
        self = .null
        let filled = object[Name(step), default: .null].set(value, at: steps.dropFirst())
        self = .object(object)
        return filled
    }

    /// Removes the value at a path. A list element becomes null, which preserves the indexes of the others.
    public mutating func remove(at steps: ArraySlice<String>) {
        guard let step = steps.first else { return }
        let rest = steps.dropFirst()
        switch self {
        case .array(var list):
            guard let place = Self.place(step), place < list.count else { return }
            self = .null
            if rest.isEmpty { list[place] = .null } else { list[place].remove(at: rest) }
            self = .array(list)
        case .object(var object):
            self = .null
            if rest.isEmpty { object[Name(step)] = nil } else { object[Name(step)]?.remove(at: rest) }
            self = .object(object)
        default: break
        }
    }

    /// Returns the value at a path, or nil if the path doesn't exist.
    public func value(at steps: ArraySlice<String>) -> JSONValue? {
        guard let step = steps.first else { return self }
        if case .array(let list) = self, let place = Self.place(step) {
            return place < list.count ? list[place].value(at: steps.dropFirst()) : nil
        }
        return objectValue?[Name(step)]?.value(at: steps.dropFirst())
    }

    private static func place(_ step: String) -> Int? {
        (1...6).contains(step.utf8.count) && step.utf8.allSatisfy { (48...57).contains($0) } ? Int(step) : nil
    }
}
