import JSON

/// What of one object cannot be kept exactly.
struct Loss: Sendable {
    /// The field, with the path inside of it; nil for the whole object.
    var field: String?
    /// Why, in words.
    var reason: String
    /// The value as it was.
    var value: JSONValue
}

/// All that cannot be kept of one object.
struct Losses: Sendable {
    /// In the order in which they were met.
    private(set) var list: [Loss] = []

    /// Notes one.
    mutating func add(_ field: String?, _ reason: String, _ value: JSONValue) {
        list.append(Loss(field: field, reason: reason, value: value))
    }
}
