import Foundation

/// A blocking connection that sends exactly the given bytes, including malformed ones.
///
/// Use it on a separate thread, so that it doesn't block the threads of a server in the same process.
final class MalformedSocket {
    struct Answer {
        var status: Int
        var headers: [String: String]
        var body: [UInt8]
    }

    enum Failure: Error {
        case noConnection
        case connectionEnded
        case notHTTP(String)
    }

    #if canImport(Darwin)
        private static let streamType = SOCK_STREAM
        private static let sendFlags: Int32 = 0
    #else
        private static let streamType = Int32(SOCK_STREAM.rawValue)
        private static let sendFlags = Int32(MSG_NOSIGNAL)
    #endif

    private let port: Int
    private let timeLimit: Duration
    private let receiveBuffer: Int32?
    private var descriptor: Int32 = -1
    private var received: [UInt8] = []

    /// - Parameters:
    ///   - timeLimit: The time limit for sending and receiving.
    ///   - receiveBuffer: The size of the receive buffer in bytes, or nil for the default.
    init(port: Int, timeLimit: Duration = .seconds(20), receiveBuffer: Int32? = nil) {
        self.port = port
        self.timeLimit = timeLimit
        self.receiveBuffer = receiveBuffer
    }

    deinit { disconnect() }

    /// Sends bytes and reads a response. Connects if necessary.
    ///
    /// - Throws: ``Failure`` on a time-out or if the connection ends.
    func exchange(_ bytes: [UInt8], isHead: Bool) throws -> Answer {
        if descriptor < 0 { try connectNow() }
        try send(bytes)
        let answer = try receive(isHead: isHead)
        if answer.headers["connection"]?.lowercased() == "close" { disconnect() }
        return answer
    }

    /// Sends bytes until the server closes the connection.
    func send(_ bytes: [UInt8]) throws {
        if descriptor < 0 { try connectNow() }
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Self.sendFlags)
            }
            // A server that rejected the request early has already responded, and the response can still be read.
            guard count > 0 else { return }
            sent += count
        }
    }

    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    func disconnect() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
        received = []
    }

    private func connectNow() throws {
        descriptor = socket(AF_INET, Self.streamType, 0)
        let (seconds, attoseconds) = timeLimit.components
        var timeLimit = timeval()
        timeLimit.tv_sec = .init(seconds)
        timeLimit.tv_usec = .init(attoseconds / 1_000_000_000_000)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeLimit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeLimit, socklen_t(MemoryLayout<timeval>.size))
        var noDelay: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
        if var receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = Self.loopback(port: port)
        guard Self.with(&address, { connect(descriptor, $0, $1) }) == 0 else {
            disconnect()
            throw Failure.noConnection
        }
    }

    /// Reads a response, skipping informational ones.
    func receive(isHead: Bool) throws -> Answer {
        while true {
            let end = try readUntil("\r\n\r\n")
            let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
            let words = lines.first?.split(separator: " ") ?? []
            guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
                throw Failure.notHTTP(lines.first.map(String.init) ?? "")
            }
            received.removeFirst(end.upperBound)
            guard status >= 200 else { continue }
            var headers: [String: String] = [:]
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                headers[parts[0].lowercased()] = String(parts.last?.drop { $0 == " " } ?? "")
            }
            return Answer(status: status, headers: headers, body: try receiveBody(status, headers, isHead: isHead))
        }
    }

    private func receiveBody(_ status: Int, _ headers: [String: String], isHead: Bool) throws -> [UInt8] {
        if isHead || status == 204 || status == 304 { return [] }
        if headers["transfer-encoding"]?.lowercased() == "chunked" { return try receiveChunks() }
        return try take(headers["content-length"].flatMap { Int($0) } ?? 0)
    }

    private func receiveChunks() throws -> [UInt8] {
        var body: [UInt8] = []
        while true {
            let end = try readUntil("\r\n")
            let size = Int(String(decoding: received[..<end.lowerBound], as: UTF8.self), radix: 16) ?? 0
            received.removeFirst(end.upperBound)
            body += try take(size)
            _ = try take(2)
            if size == 0 { return body }
        }
    }

    private func take(_ count: Int) throws -> [UInt8] {
        while received.count < count { try readMore() }
        let bytes = Array(received.prefix(count))
        received.removeFirst(count)
        return bytes
    }

    private func readUntil(_ mark: String) throws -> Range<Int> {
        while true {
            if let start = find(mark) { return start..<start + mark.utf8.count }
            try readMore()
        }
    }

    /// Returns the position of a mark. In debug builds, Foundation's search is slower than the rest of the test.
    private func find(_ mark: String) -> Int? {
        let mark = Array(mark.utf8)
        return received.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            var start = 0
            while start + mark.count <= bytes.count,
                let found = memchr(base + start, Int32(mark[0]), bytes.count - mark.count + 1 - start)
            {
                start = UnsafeRawPointer(found) - base
                if memcmp(found, mark, mark.count) == 0 { return start }
                start += 1
            }
            return nil
        }
    }

    private func readMore() throws {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else {
            disconnect()
            throw Failure.connectionEnded
        }
        received += buffer[..<count]
    }

    private static func loopback(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func with(
        _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
