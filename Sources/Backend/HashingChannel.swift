#if os(Linux)
    import Glibc

    /// Messages over a socket, each with its length before it.
    struct HashingChannel {
        let socket: Int32

        /// False when the other end is gone.
        func send(_ message: [UInt8]) -> Bool {
            var rest = withUnsafeBytes(of: UInt32(message.count)) { Array($0) + message }[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { return false }
            }
            return true
        }

        /// nil when the other end is gone.
        func receive() -> [UInt8]? {
            guard let head = receive(4) else { return nil }
            return receive(Int(head.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }))
        }

        private func receive(_ count: Int) -> [UInt8]? {
            var message = [UInt8](repeating: 0, count: count)
            var received = 0
            while received < count {
                let more = message.withUnsafeMutableBytes {
                    read(socket, $0.baseAddress.map { $0 + received }, count - received)
                }
                if more > 0 { received += more } else if more == 0 || errno != EINTR { return nil }
            }
            return message
        }
    }
#endif
