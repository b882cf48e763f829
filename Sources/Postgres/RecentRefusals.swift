/// Callers whose changes of single rows were refused lately.
///
/// A change that fails undoes all that shared a transaction with it. A caller who goes on sending such changes would make
/// all others send theirs twice; so its changes go alone for a while.
struct RecentRefusals {
    /// How long a refusal counts, in milliseconds.
    private static let memory: Int64 = 1000
    /// How many callers are remembered at most; beyond that all are forgotten, and learned anew.
    private static let capacity = 4096

    private var moments: [ObjectIdentifier: Moment] = [:]

    /// Notes that a change of a caller was refused.
    mutating func note(_ caller: ObjectIdentifier?, at now: Moment) {
        guard let caller else { return }
        if moments.count >= Self.capacity { moments.removeAll() }
        moments[caller] = now
    }

    /// Whether a change of a caller was refused lately.
    mutating func include(_ caller: ObjectIdentifier?, at now: Moment) -> Bool {
        guard let caller, !moments.isEmpty, let moment = moments[caller] else { return false }
        guard moment.isOlder(than: Self.memory, at: now) else { return true }
        moments[caller] = nil
        return false
    }
}
