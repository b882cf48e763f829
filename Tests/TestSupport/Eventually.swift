/// Asks again and again until the answer is yes, and gives up after a time that is long beside what is waited for.
public func eventually(within limit: Duration = .seconds(20), _ condition: () async throws -> Bool) async throws
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
/// The second is fifty pauses of 20 milliseconds, so that a machine which stands still for a while, or takes long for an
/// answer, does not spend it.
public func withinOneSecond(_ condition: () async throws -> Bool) async throws -> Bool {
    for _ in 0..<50 {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(20))
    }
    return try await condition()
}
