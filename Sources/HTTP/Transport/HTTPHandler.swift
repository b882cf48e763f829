/// Answers the requests of connections.
package protocol HTTPHandler: Sendable {
    /// Answers a request; what goes wrong has an answer, too.
    func answer(_ request: IncomingRequest) async -> Reply

    /// Whether a client that asks before it sends a body may send it.
    func mayTake(_ body: IncomingBody, headers: RequestHeaders) -> Bool

    /// The answer for which there is no memory.
    var overloaded: Reply { get }
}
