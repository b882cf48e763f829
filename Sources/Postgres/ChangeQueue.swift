import Collections

/// Requests of many callers that change one row each, and wait to be sent together.
///
/// Together they are one transaction: one packet, one commit, and one wait for the disk.
struct ChangeQueue {
    /// How many go together at most: the first ones are answered when all are done.
    private static let mostMembers = 32

    /// How many callers there are at least when those who were answered are waited for. Fewer lose more by it than they
    /// gain.
    private static let fewestAwaited = 12
    /// How many are awaited at most: with as many, a transaction costs each of them little, and the others keep the
    /// processors busy meanwhile.
    private static let mostAwaited = 20

    private var requests: Deque<Request> = []
    /// How many are waited for, and for how long at most.
    private var gathering: (count: Int, until: Moment)?

    var count: Int { requests.count }
    var isEmpty: Bool { requests.isEmpty }

    mutating func append(_ request: Request) { requests.append(request) }

    /// When more requests are no longer waited for, if they are.
    func deadline(at now: Moment) -> Moment? { isGathering(at: now) ? gathering?.until : nil }

    /// Whether it is better to wait a little for more requests.
    func isGathering(at now: Moment) -> Bool {
        gathering.map { requests.count < $0.count && now < $0.until } ?? false
    }

    /// How many more requests are waited for; one when none has to be.
    func missing(at now: Moment) -> Int {
        guard let gathering, isGathering(at: now) else { return 1 }
        return gathering.count - requests.count
    }

    /// Notes that requests went together and are answered.
    ///
    /// Many callers have the next change ready in less time than a commit takes. Where there are enough of them, they are
    /// waited for as long as less than four in five are back, and a millisecond at most: fewer and larger transactions
    /// cost the server less, and several processes on one database wait less for one another's commits.
    mutating func didCarryOut(_ members: Int, at now: Moment) {
        let callers = members + requests.count
        guard callers >= Self.fewestAwaited else { return }
        gathering = (min(Self.mostAwaited, callers * 4 / 5), now.after(.milliseconds(1)))
    }

    /// Takes the requests that go next as one; nil when none is left that anybody waits for.
    ///
    /// They are in the order of their rows, so that two processes never wait for each other crosswise.
    mutating func next() -> Request? {
        gathering = nil
        let members = requests.prefix(Self.mostMembers).filter { !$0.answer.isGiven }
        requests.removeFirst(min(requests.count, Self.mostMembers))
        guard members.count > 1 else { return members.first }
        return Request(together: members.sorted { ($0.row ?? "") < ($1.row ?? "") })
    }

    /// Takes all requests.
    mutating func removeAll() -> Deque<Request> {
        defer { requests = [] }
        return requests
    }
}
