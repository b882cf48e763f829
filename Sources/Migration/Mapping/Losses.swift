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

    /// How many of one object are reported one by one: a list may hold a million values that cannot be kept.
    private static let most = 1000
    /// How many bytes of a path are written.
    private static let longestPath = 1024

    /// Notes one. The last one that is written says that there are more.
    ///
    /// - Parameter field: The field, with the path inside of it.
    mutating func add(_ field: @autoclosure () -> String?, _ reason: String, _ value: JSONValue) {
        guard list.count < Self.most else {
            if list.count == Self.most {
                list.append(Loss(field: nil, reason: "more values that cannot be kept as they are", value: .null))
            }
            return
        }
        list.append(Loss(field: field().map(Self.shortened), reason: reason, value: value))
    }

    private static func shortened(_ path: String) -> String {
        guard path.utf8.count > longestPath else { return path }
        return String(decoding: path.utf8.prefix(longestPath), as: UTF8.self) + "…"
    }
}
