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

/// Whether something has become so within a second from now: asks every 20 milliseconds until the answer is yes.
///
/// What is asked when the second is over must be answered with yes, however long that answer takes.
public func withinOneSecond(_ condition: () async throws -> Bool) async throws -> Bool {
    let start = ContinuousClock.now
    while true {
        let elapsed = start.duration(to: .now)
        if try await condition() { return true }
        guard elapsed < .seconds(1) else { return false }
        try await Task.sleep(for: .milliseconds(20))
    }
}
