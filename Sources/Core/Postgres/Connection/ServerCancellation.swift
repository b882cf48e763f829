import CLibpq
import Tasks

/// Asks the server to cancel what connections do, from threads of their own: libpq waits for the server meanwhile.
///
/// A server that is frozen keeps each of them. So there is one for a connection at a time, and few in all.
package final class ServerCancellations {
    /// A connection as the server knows it.
    package struct Target: Hashable, Sendable {
        private let handle: UInt
        private let process: Int32

        init(_ connection: OpaquePointer) {
            handle = UInt(bitPattern: connection)
            process = PQbackendPID(connection)
        }
    }

    private static let most = 8
    private var underWay: Set<Target> = []

    /// Starts to ask; false when that is not possible now. `commandQueue` is notified when the server was asked.
    func send(to connection: OpaquePointer, lease: Int, through commandQueue: CommandQueue) -> Bool {
        let target = Target(connection)
        guard underWay.count < Self.most, !underWay.contains(target), let pointer = PQgetCancel(connection) else {
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

    /// The server was asked, or could not be.
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
        // When it fails, the statement goes on and is asked to stop again.
        _ = PQcancel(pointer, &message, Int32(message.count))
        PQfreeCancel(pointer)
    }
}
