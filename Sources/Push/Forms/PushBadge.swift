import JSON

/// What becomes of the badge of each device.
enum PushBadge: Sendable, Equatable {
    /// It becomes a number.
    case set(Double)
    /// A number is added.
    case add(Double)

    /// Reads what a push says; nil for what is none.
    init?(json: JSONValue) {
        switch json {
        case .number(let number): self = .set(number)
        case .string(let text) where text.lowercased() == "increment": self = .add(1)
        case .object(let operation):
            guard operation["__op"]?.stringValue?.lowercased() == "increment",
                let amount = operation["amount"]?.numberValue, amount != 0
            else { return nil }
            self = .add(amount)
        default: return nil
        }
    }

    /// What a device shows.
    ///
    /// - Parameters:
    ///   - badge: What its row says.
    ///   - isChanged: Whether the row has been changed already.
    func shown(over badge: Double?, isChanged: Bool) -> Double {
        if isChanged { return badge ?? 0 }
        switch self {
        case .set(let number): return number
        case .add(let amount): return (badge ?? 0) + amount
        }
    }
}
