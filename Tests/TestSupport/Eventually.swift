import Synchronization

/// Blocks waiting tasks until a test opens it.
public final class Latch: Sendable {
    private let state = Atomic(false)

    public init() {}

    public var isOpen: Bool { state.load(ordering: .acquiring) }

    public func open() { state.store(true, ordering: .releasing) }

    /// Waits until the latch is open or the task is cancelled.
    public func wait() async {
        while !isOpen, (try? await Task.sleep(for: .milliseconds(10))) != nil {}
    }
}

/// Polls until the condition is true. Returns false after the time limit.
public func eventually(within limit: Duration = .seconds(30), _ condition: () async throws -> Bool) async throws
    -> Bool
{
    let end = ContinuousClock.now + limit
    while ContinuousClock.now < end {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(20))
    }
    return false
}

/// Tests a limit of one second: polls until the condition is true, at most 150 times with pauses of 20 ms.
///
/// Counts pauses instead of time, and three times as many as fit into a second, so that a stalled machine doesn't use
/// up the limit.
public func withinOneSecond(_ condition: () async throws -> Bool) async throws -> Bool {
    for _ in 0..<150 {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(20))
    }
    return try await condition()
}
