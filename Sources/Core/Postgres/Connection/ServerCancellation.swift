import CLibpq
import Limits

/// Sends cancel requests to the server on separate threads, because libpq blocks until the server responds.
///
/// A frozen server blocks every such thread, so they are limited to one per connection and eight in total.
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
    func send(to connection: OpaquePointer, lease: Int, through commandQueue: CommandQueue) -> Bool {
        let target = Target(connection)
        guard underWay.count < Self.limit, !underWay.contains(target), let pointer = PQgetCancel(connection) else {
            return false
        }
        let cancellation = ServerCancellation(pointer: pointer)
        let thread = OSThread {
            cancellation.run()
            _ = commandQueue.send(.cancelSent(target, lease: lease))
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

/// A cancel request, sent by one thread.
///
/// `@unchecked Sendable`: a `PGcancel` copies the address and key, independent of its connection. It moves from the I/O
/// thread to the one that uses and frees it.
private struct ServerCancellation: @unchecked Sendable {
    let pointer: OpaquePointer

    func run() {
        var message = [CChar](repeating: 0, count: 256)
        // If this fails, the statement continues and is cancelled again later.
        _ = PQcancel(pointer, &message, Int32(message.count))
        PQfreeCancel(pointer)
    }
}
