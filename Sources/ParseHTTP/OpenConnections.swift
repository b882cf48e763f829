import NIOCore
import Synchronization

/// The connections that are open, so that the last of them can be closed when a shutdown takes too long.
final class OpenConnections: Sendable {
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    /// Closes every connection, whatever it is doing.
    func closeAll() {
        for channel in channels.withLock({ Array($0.values) }) { channel.close(promise: nil) }
    }

    /// Takes a connection into the list.
    func insert(_ channel: any Channel) {
        channels.withLock { $0[ObjectIdentifier(channel)] = channel }
    }

    /// Takes a connection out of the list.
    func remove(_ channel: any Channel) {
        channels.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(channel)) }
    }
}
