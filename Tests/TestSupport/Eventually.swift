import Synchronization

/// What others wait for until a test opens it.
public final class Latch: Sendable {
    private let state = Atomic(false)

    public init() {}

    /// Whether it is open.
    public var isOpen: Bool { state.load(ordering: .acquiring) }

    /// Lets all pass, from now on.
    public func open() { state.store(true, ordering: .releasing) }

    /// Waits until it is open, or the task is cancelled.
    public func wait() async {
        while !isOpen, (try? await Task.sleep(for: .milliseconds(10))) != nil {}
    }
}

/// Asks again and again until the answer is yes, and gives up after a time that is long beside what is waited for.
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

/// Whether something has become so within a second from now: asks until the answer is yes.
///
/// The second is pauses of 20 milliseconds, three times as many as fit in it, so that a machine which stands still for a
/// while, or takes long for an answer, does not spend it.
public func withinOneSecond(_ condition: () async throws -> Bool) async throws -> Bool {
    for _ in 0..<150 {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(20))
    }
    return try await condition()
}
