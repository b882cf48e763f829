#if os(Linux)
    import CLibpq
    import CScheduling
    import Glibc

    /// The process of PostgreSQL behind a connection, when it runs on this machine.
    struct ServerProcess {
        private let id: pid_t

        /// Finds the process of an open connection.
        ///
        /// PostgreSQL tells its number, which means another process, or none, when it runs elsewhere. So the process must
        /// be a child of the one that listens on the socket, or its title must name the port of this side of the
        /// connection.
        init?(of connection: OpaquePointer) {
            id = PQbackendPID(connection)
            let socket = PQsocket(connection)
            guard id > 0, Self.isChild(id, ofListenerOf: socket) || Self.isNamed(id, afterPortOf: socket) else {
                return nil
            }
        }

        /// Leaves the processors to others when all are busy.
        ///
        /// Returns whether the system allows it. It does when both servers run as one user or this one as root, though
        /// at some moments not to others than root.
        func giveWay() -> Bool { take_little_weight(id) != 0 }

        private static func isChild(_ id: pid_t, ofListenerOf socket: Int32) -> Bool {
            // As `struct ucred`: process, user and group.
            var peer: (pid_t, uid_t, gid_t) = (0, 0, 0)
            var size = socklen_t(MemoryLayout.size(ofValue: peer))
            guard getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0, peer.0 > 0 else { return false }
            // The parent is the second word after the name, which ends with the last parenthesis.
            guard let text = contents("/proc/\(id)/stat"), let name = text.lastIndex(of: ")") else { return false }
            let words = text[name...].split(separator: " ")
            return words.count > 2 && pid_t(words[2]) == peer.0
        }

        private static func isNamed(_ id: pid_t, afterPortOf socket: Int32) -> Bool {
            var address = sockaddr_storage()
            var size = socklen_t(MemoryLayout.size(ofValue: address))
            let port: UInt16? = withUnsafeMutableBytes(of: &address) { bytes in
                guard let base = bytes.baseAddress,
                    getsockname(socket, base.assumingMemoryBound(to: sockaddr.self), &size) == 0
                else { return nil }
                switch Int32(base.load(as: sockaddr.self).sa_family) {
                case AF_INET: return UInt16(bigEndian: base.load(as: sockaddr_in.self).sin_port)
                case AF_INET6: return UInt16(bigEndian: base.load(as: sockaddr_in6.self).sin6_port)
                default: return nil
                }
            }
            guard let port, let title = contents("/proc/\(id)/cmdline") else { return false }
            return title.hasPrefix("postgres: ") && title.contains("(\(port)) ")
        }

        /// The beginning of a small file.
        private static func contents(_ path: String) -> String? {
            let file = open(path, O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return nil }
            defer { close(file) }
            var bytes = [UInt8](repeating: 0, count: 1024)
            let count = read(file, &bytes, bytes.count)
            return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
        }
    }
#endif
