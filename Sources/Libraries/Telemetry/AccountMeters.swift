/// Log-in metrics.
public final class LoginMeters: Sendable {
    /// The outcome of a log-in.
    public enum Result: Int, Label {
        case ok, wrong, locked, unverified, mfa, provider
    }

    private let names: [String]
    private let counters: [Counters<Result>]

    /// - Parameter providers: The configured log-in providers other than passwords.
    init(providers: [String]) {
        names = ["password"] + providers.sorted() + ["other"]
        counters = names.map { _ in Counters() }
    }

    /// Counts a log-in.
    ///
    /// - Parameter method: `password` or the name of a provider. Unknown names count as `other`.
    public func add(_ result: Result, method: String) {
        counters[names.firstIndex(of: method) ?? names.count - 1].add(result)
    }

    func write(to text: inout Exposition) {
        text.begin("roost_logins_total", .counter, "Log-ins by outcome.")
        for (name, counters) in zip(names, counters) {
            for result in Result.allCases { text.add(["method": name, "result": result.text], counters[result]) }
        }
    }
}

/// Counts requests rejected by rate limits, by the index of the limit in the configuration.
public final class LimitMeters: Sendable {
    private let counters: [Counter]

    init(limits: Int) { counters = (0..<limits + 2).map { _ in Counter() } }

    /// Counts a rejected request.
    ///
    /// - Parameter limit: The index of the limit, or nil for a limit declared by cloud code. Limits beyond the configured
    ///   ones, which operators added, count as `other`.
    public func add(limit: Int?) {
        let other = counters.count - 2
        counters[limit.map { min($0, other) } ?? other + 1].add()
    }

    func write(to text: inout Exposition) {
        text.begin("roost_rate_limited_total", .counter, "Requests rejected by rate limits.")
        for (index, counter) in counters.enumerated() {
            let names = [counters.count - 2: "other", counters.count - 1: "cloud"]
            text.add(["limit": names[index] ?? "\(index)"], counter.value)
        }
    }
}
