/// What an operator of the console may do.
package enum ConsoleRole: String, Sendable, CaseIterable, Comparable {
    /// Reads.
    case viewer
    /// Objects and files.
    case editor
    /// Everything but operators.
    case developer
    /// Everything.
    case owner

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    package static func < (left: ConsoleRole, right: ConsoleRole) -> Bool { left.rank < right.rank }
}
