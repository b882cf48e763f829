import Foundation

/// A port whose connection attempts are dropped, like by a firewall. Its accept queue is full.
final class FullPort: Sendable {
    let port: Int
    private let descriptors: [Int32]

    struct Failure: Error {}

    #if canImport(Darwin)
        private static let streamType = SOCK_STREAM
    #else
        private static let streamType = Int32(SOCK_STREAM.rawValue)
    #endif

    init() throws {
        let listener = socket(AF_INET, Self.streamType, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 0) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isOpen else { throw Failure() }
        // The first connection fills the queue.
        let visitors = (0..<4).map { _ in
            let visitor = socket(AF_INET, Self.streamType, 0)
            _ = fcntl(visitor, F_SETFL, O_NONBLOCK)
            return visitor
        }
        for visitor in visitors {
            _ = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(visitor, $0, length) }
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        descriptors = [listener] + visitors
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
