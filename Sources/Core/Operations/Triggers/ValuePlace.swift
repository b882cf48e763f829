import Tasks

/// Reserves memory for the decoded values of a large object until it is deallocated.
public final class ValuePlace: Sendable {
    /// The row size in bytes from which an object counts as large.
    public static let largeSize = 1024 * 1024
    /// The maximum total size in bytes of large rows held as values at the same time.
    static let maxBytes = 16 * 1024 * 1024
    /// The maximum time that a change waits for memory. Beyond it, observers are too slow for the rate of changes.
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

    /// Reserves memory, or returns nil if the object isn't large.
    ///
    /// - Throws: ``NoPlace`` if the memory isn't available in time.
    static func acquire(_ size: Int, in gate: Gate) async throws -> ValuePlace? {
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
                    // The caller disconnected, but its change must still be reported.
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
            // The reservation may have succeeded just as the time ended.
            while let other = await group.next() { hasEntered = hasEntered || other }
            return hasEntered
        }
    }
}
