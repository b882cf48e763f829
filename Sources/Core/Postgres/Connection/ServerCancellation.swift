import CLibpq
import Limits

/// Sends cancel requests to the server on separate threads, because libpq blocks until the server responds.
///
/// A frozen server blocks every such thread, so they are limited to one per connection and eight per client.
package final class ServerCancellations {
    /// Identifies a connection and its server process.
    package struct Target: Hashable, Sendable {
        private let handle: UInt
        private let process: Int32

        init(_ connection: OpaquePointer) {
            handle = UInt(bitPattern: connection)
            process = PQbackendPID(connection)
        }
    }

    private static let limit = 8
    private var underWay: Set<Target> = []

    /// Starts to send a cancel request, and notifies `commandQueue` once it was sent or failed. Returns false if that
    /// isn't possible now.
    func send(to connection: OpaquePointer, lease: Lease?, through commandQueue: CommandQueue) -> Bool {
        let target = Target(connection)
        guard underWay.count < Self.limit, !underWay.contains(target), let pointer = PQgetCancel(connection) else {
            return false
        }
        // A `PGcancel` copies the address and key, so the thread can use and free it without the connection.
        nonisolated(unsafe) let cancel = pointer
        let thread = OSThread {
            var message = [CChar](repeating: 0, count: 256)
            // If this fails, the statement continues and is cancelled again later.
            _ = PQcancel(cancel, &message, Int32(message.count))
            PQfreeCancel(cancel)
            _ = commandQueue.send(.cancelSent(target, lease))
        }
        thread.detach()
        guard thread.isRunning else {
            PQfreeCancel(pointer)
            return false
        }
        underWay.insert(target)
        return true
    }

    /// Frees the slot of a cancel request that was sent or failed.
    func didSend(to target: Target) { underWay.remove(target) }
}
