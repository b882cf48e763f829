import Tasks

/// The memory that the values of a large object take, for as long as anybody keeps them.
public final class ValuePlace: Sendable {
    /// The bytes of rows from which on an object is large.
    public static let largeSize = 1024 * 1024
    /// The bytes of large rows that are kept as values at a time.
    static let mostBytes = 16 * 1024 * 1024
    /// How long a change waits for its place: after that those who keep values are slower than changes come.
    static let timeToEnter = Duration.seconds(1)

    struct NoPlace: Error {}

    private let gate: Gate
    private let weight: Int
    private let sender: Sender

    private init(in gate: Gate, weight: Int, of sender: Sender) {
        self.gate = gate
        self.weight = weight
        self.sender = sender
    }

    deinit { gate.leave(weight: weight, of: sender) }

    /// Takes a place; nil for an object that is not large; throws ``NoPlace``.
    static func take(_ size: Int, in gate: Gate) async throws -> ValuePlace? {
        guard size >= largeSize else { return nil }
        let sender = Sender.current
        guard await enter(gate, size, sender) else { throw NoPlace() }
        return ValuePlace(in: gate, weight: size, of: sender)
    }

    private static func enter(_ gate: Gate, _ weight: Int, _ sender: Sender) async -> Bool {
        if gate.tryEnter(weight: weight, of: sender) { return true }
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                do {
                    try await gate.enter(weight: weight, of: sender)
                } catch {
                    guard !Task.isCancelled else { return false }
                    // The caller has left; what it changed is reported all the same.
                    gate.add(weight: weight, of: sender)
                }
                return true
            }
            group.addTask {
                try? await Task.sleep(for: timeToEnter)
                return false
            }
            var hasEntered = await group.next() ?? false
            group.cancelAll()
            // It may have entered while the time ended.
            while let other = await group.next() { hasEntered = hasEntered || other }
            return hasEntered
        }
    }
}
