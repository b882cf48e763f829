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
