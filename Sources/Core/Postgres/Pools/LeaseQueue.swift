import DequeModule
import Limits

/// Requests that wait for a connection. Of the requests with the same conflict key, one at a time gets a connection,
/// because the others would occupy connections while they wait for the same row lock.
struct LeaseQueue {
    /// Requests in order of arrival, including those waiting for a row. Served ones stay until they reach the front.
    var arrivals: Deque<LeaseRequest> = []
    private var waiters = SenderQueue<LeaseRequest>()
    /// Requests that wait behind another one for the same row, by conflict key.
    private var queuesByKey: [ConflictKey: Deque<LeaseRequest>] = [:]

    var count: Int { waiters.count + queuesByKey.values.reduce(0) { $0 + $1.count } }
    /// The number of requests that wait only for a connection.
    var unblocked: Int { waiters.count }
    /// Whether no request waits and no request with a conflict key has a connection.
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
        guard let (request, _) = waiters.popFirst(by: rank, { isEligible($1) ? .accept : .skip }) else { return nil }
        request.ticket = nil
        return request
    }

    /// Removes a request. Returns false if it isn't waiting.
    mutating func withdraw(_ request: LeaseRequest) -> Bool {
        if let ticket = request.ticket.take() {
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

    /// Unblocks the next request with this conflict key, now that the previous one is done.
    mutating func leave(_ key: ConflictKey?) {
        guard let key, queuesByKey[key] != nil else { return }
        while let next = queuesByKey[key]?.popFirst() {
            guard !next.promise.isFulfilled else { continue }
            // The request has already waited, so it goes to the front of its sender's requests.
            next.ticket = waiters.prepend(next, of: next.sender)
            return
        }
        queuesByKey[key] = nil
    }
}
