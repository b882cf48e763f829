import CLibpq

/// Asks the server to cancel what a connection does, from a thread of its own: libpq waits for the server meanwhile.
///
/// `@unchecked Sendable`: a `PGcancel` is a copy of the address and the key, independent of its connection; it passes
/// from the I/O thread to the one that uses it, which frees it.
struct ServerCancellation: @unchecked Sendable {
    private let pointer: OpaquePointer

    /// Starts the thread; false when that was not possible. `commandQueue` is notified when the server was asked.
    static func send(to connection: OpaquePointer, lease: Int, through commandQueue: CommandQueue) -> Bool {
        guard let pointer = PQgetCancel(connection) else { return false }
        let cancellation = ServerCancellation(pointer: pointer)
        let thread = OSThread {
            cancellation.run()
            _ = commandQueue.send(.cancelSent(lease: lease))
        }
        thread.detach()
        if !thread.isRunning { PQfreeCancel(pointer) }
        return thread.isRunning
    }

    private func run() {
        var message = [CChar](repeating: 0, count: 256)
        // When it fails, the statement goes on and is asked to stop again.
        _ = PQcancel(pointer, &message, Int32(message.count))
        PQfreeCancel(pointer)
    }
}
