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
}
