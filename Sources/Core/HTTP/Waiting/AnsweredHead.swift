import NIOHTTP1

extension TransferTimeout {
    /// The maximum size in bytes of a request head that doesn't count as transfer memory.
    private static let smallHead = 8 * 1024

    /// Counts a large request head as transfer memory while the request is answered.
    ///
    /// - Returns: The memory to release when the request is answered, or nil for a small head.
    /// - Throws: ``HTTPError/overloaded`` if memory is full.
    @inline(never)
    func hold(_ head: HTTPRequestHead, on connection: HTTPConnection) throws(HTTPError) -> Ticket? {
        let size = head.headers.reduce(head.uri.utf8.count) {
            $0 + $1.name.utf8.count + $1.value.utf8.count + HeldInput.line
        }
        guard size > Self.smallHead else { return nil }
        let ticket = begin(.input, on: connection.channel, of: connection.caller.sender)
        guard hold(ticket, atLeast: size) else {
            end(ticket)
            throw HTTPError.overloaded
        }
        exempt(ticket, atLeast: size)
        return ticket
    }
}
