import Outgoing

/// Fetches values from URLs and caches them. Concurrent requests for a URL share one fetch.
actor SharedFetches<Value: Sendable> {
    /// A value, and the time for which it is cached.
    typealias Fetched = (value: Value, age: Duration)

    private let fetch: @Sendable (String) async throws -> Fetched
    private var cached: [String: (value: Value, expiresAt: ContinuousClock.Instant)] = [:]
    private var underWay: [String: Task<Fetched, any Error>] = [:]
    /// The times of failed fetches. A failing URL is not fetched again for two seconds.
    private var failures: [String: ContinuousClock.Instant] = [:]
    private var renewals: [String: ContinuousClock.Instant] = [:]

    private static var failurePause: Duration { .seconds(2) }
    /// The minimum interval between two early renewals of a value.
    private static var renewalPause: Duration { .seconds(60) }
    /// The maximum number of cached values. Bounded because clients may choose URLs.
    private static var capacity: Int { 1000 }

    init(_ fetch: @escaping @Sendable (String) async throws -> Fetched) { self.fetch = fetch }

    /// Returns the value at a URL.
    ///
    /// - Parameter suffices: Returns whether a cached value is sufficient. Otherwise it is fetched again, but at most
    ///   once a minute.
    /// - Throws: The error of the fetch, or `HTTPCallFailure` if it failed a moment ago.
    func value(at url: String, suffices: @Sendable (Value) -> Bool = { _ in true }) async throws -> Value {
        let now = ContinuousClock.now
        if let known = cached[url], known.expiresAt > now {
            if suffices(known.value) { return known.value }
            if underWay[url] == nil {
                if let renewal = renewals[url], renewal + Self.renewalPause > now { return known.value }
                renewals[url] = now
            }
        }
        return try await fetched(url)
    }

    private func fetched(_ url: String) async throws -> Value {
        if let fetch = underWay[url] { return try await fetch.value.value }
        forgetSome()
        if let failure = failures[url], failure + Self.failurePause > .now {
            throw HTTPCallFailure(description: "the previous request failed a moment ago")
        }
        let task = Task { [fetch] in try await fetch(url) }
        underWay[url] = task
        defer { underWay[url] = nil }
        do {
            let fetched = try await task.value
            cached[url] = (fetched.value, .now + fetched.age)
            failures[url] = nil
            return fetched.value
        } catch {
            failures[url] = .now
            renewals[url] = nil
            throw error
        }
    }

    private func forgetSome() {
        let now = ContinuousClock.now
        if failures.count >= Self.capacity { failures = failures.filter { $0.value + Self.failurePause > now } }
        if failures.count >= Self.capacity { failures = [:] }
        guard cached.count >= Self.capacity else { return }
        cached = cached.filter { $0.value.expiresAt > now }
        if cached.count >= Self.capacity { cached = [:] }
        renewals = renewals.filter { cached[$0.key] != nil }
    }
}
