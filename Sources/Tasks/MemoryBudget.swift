/// The bytes that requests may hold at a time, all together; see ``HeldMemory``. What is more is held alone.
///
/// Requests that cloud code makes have a budget of their depth: they never wait for the request that waits for the code.
public struct MemoryBudget: Sendable {
    /// What values are made of, from where they are made for cloud code to where what the code answers is written: they take
    /// many times as much.
    public static let values = MemoryBudget(capacity: 8 * 1024 * 1024)
    /// The parts of answers that are put together.
    public static let answers = MemoryBudget(capacity: 32 * 1024 * 1024)

    /// How many calls of cloud code may stand in one another.
    private static let depths = 17

    private let gates: [Gate]

    /// Makes a budget. One sender has three quarters of it.
    init(capacity: Int) {
        gates = (0..<Self.depths).map { _ in Gate(capacity: capacity, share: capacity / 4 * 3) }
    }

    func gate(depth: Int) -> Gate { gates[min(max(depth, 0), gates.count - 1)] }
}
