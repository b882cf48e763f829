import DequeModule
import Tasks

/// The requests that wait for a connection. Of those with one conflict key, one can get a connection at a time, since the
/// others would only wait for its row there.
struct LeaseQueue {
    /// Requests in order of arrival, including those waiting for a row. Served ones stay until they reach the front.
    private(set) var arrivals: Deque<LeaseRequest> = []
    private var waiters = SenderQueue<LeaseRequest>()
    /// By conflict key, requests behind another one for the same row.
    private var queuesByKey: [ConflictKey: Deque<LeaseRequest>] = [:]

    var count: Int { waiters.count + queuesByKey.values.reduce(0) { $0 + $1.count } }
    /// The number of requests that wait only for a connection.
    var unblocked: Int { waiters.count }
    /// Whether no request waits and none with a conflict key has a connection.
    var isEmpty: Bool { waiters.isEmpty && queuesByKey.isEmpty }

    /// Enqueues a request. Returns false if it waits behind another one for the same row.
    mutating func append(_ request: LeaseRequest) -> Bool {
        arrivals.append(request)
        if let key = request.conflictKey {
            guard queuesByKey[key] == nil else {
                queuesByKey[key]?.append(request)
                return false
            }
            queuesByKey[key] = []
        }
        request.ticket = waiters.append(request, of: request.sender)
        return true
    }

    /// Dequeues the next request of the eligible sender with the lowest rank.
    mutating func next(by rank: @escaping (Sender) -> Duration, where isEligible: (Sender) -> Bool) -> LeaseRequest? {
        guard let (request, _) = waiters.popFirst(by: rank, { isEligible($1) ? .take : .skip }) else { return nil }
        request.ticket = nil
        return request
    }

    /// Dequeues a request. Returns false if it isn't waiting.
    mutating func withdraw(_ request: LeaseRequest) -> Bool {
        if let ticket = request.ticket {
            request.ticket = nil
            waiters.remove(ticket)
            leave(request.conflictKey)
            return true
        }
        guard let key = request.conflictKey, let index = queuesByKey[key]?.firstIndex(where: { $0 === request }) else {
            return false
        }
        queuesByKey[key]?.remove(at: index)
        return true
    }

    /// Unblocks the next request with a conflict key.
    mutating func leave(_ key: ConflictKey?) {
        guard let key, queuesByKey[key] != nil else { return }
        while let next = queuesByKey[key]?.popFirst() {
            guard !next.promise.isFulfilled else { continue }
            // It has waited already.
            next.ticket = waiters.prepend(next, of: next.sender)
            return
        }
        queuesByKey[key] = nil
    }

    mutating func removeFirstArrival() { arrivals.removeFirst() }

    /// Forgets the order of arrival, and returns it.
    mutating func takeArrivals() -> Deque<LeaseRequest> {
        defer { arrivals = [] }
        return arrivals
    }
}
