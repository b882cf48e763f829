/// The totals of requests and database operations at one moment.
struct Tallies: Sendable {
    /// The time in seconds since 1970.
    let at: Double
    var routes: [Int: Tally] = [:]
    var calls: [Int: Tally] = [:]
    var sent = 0

    init(at: Double) { self.at = at }

    func all(_ path: KeyPath<Tallies, [Int: Tally]>) -> Tally {
        self[keyPath: path].values.reduce(into: Tally()) { sum, tally in
            sum.counts += tally.counts
            sum.clientErrors += tally.clientErrors
            sum.serverErrors += tally.serverErrors
        }
    }
}

/// Counts, durations and failures of a route or operation.
struct Tally: Sendable {
    var counts = Histogram.Counts()
    var clientErrors: UInt64 = 0
    var serverErrors: UInt64 = 0

    mutating func add(_ more: Histogram.Counts, isClientError: Bool, isServerError: Bool) {
        counts += more
        if isClientError { clientErrors += more.count }
        if isServerError { serverErrors += more.count }
    }

    static func - (left: Tally, right: Tally) -> Tally {
        var rest = left
        rest.counts = left.counts - right.counts
        rest.clientErrors = left.clientErrors.less(right.clientErrors)
        rest.serverErrors = left.serverErrors.less(right.serverErrors)
        return rest
    }

    func row(_ method: String, _ name: String?, _ bounds: Histogram.Bounds) -> FigureHistory.Row {
        FigureHistory.Row(
            method: method, name: name, count: Int(counts.count), clientErrors: Int(clientErrors),
            serverErrors: Int(serverErrors), mean: Double(counts.nanoseconds) / 1e6 / Double(max(1, counts.count)),
            p50: counts.milliseconds(of: 0.5, bounds) ?? 0, p99: counts.milliseconds(of: 0.99, bounds) ?? 0)
    }
}

extension UInt64 {
    /// Returns the difference, or zero if negative: counters are read one by one while they grow.
    fileprivate func less(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}

extension Histogram.Counts {
    static func - (left: Self, right: Self) -> Self {
        var rest = left
        for index in rest.buckets.indices { rest.buckets[index] = left.buckets[index].less(right.buckets[index]) }
        rest.nanoseconds = left.nanoseconds.less(right.nanoseconds)
        return rest
    }

    /// Returns the duration in milliseconds within which a share of all samples lies, or nil without samples. Assumes
    /// an even distribution within a bucket, as far as the total duration allows it: a single sample's percentiles are
    /// its duration. Samples above the last bound count as that bound.
    package func milliseconds(of share: Double, _ bounds: Histogram.Bounds) -> Double? {
        guard count > 0 else { return nil }
        let limits = [0] + bounds.nanoseconds.map { Double($0) }
        // The time by which all samples together exceed the lower limits of their buckets.
        let excess = buckets.indices.reduce(Double(nanoseconds)) { rest, index in
            rest - Double(buckets[index]) * limits[min(index, limits.count - 1)]
        }
        var left = share * Double(count)
        for (index, (lower, upper)) in zip(limits, limits.dropFirst()).enumerated() {
            let here = Double(buckets[index])
            if here > 0, left <= here {
                // The samples from here on exceed the lower limit by at least as much as the result does.
                let most = max(0, excess) / max(1, here - left)
                return (lower + min((upper - lower) * left / here, most)) / 1e6
            }
            left -= here
        }
        return (limits.last ?? 0) / 1e6
    }
}
