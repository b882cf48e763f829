import JSON
import NIOCore
import NIOPosix
import NIOSSL

/// An HTTP client that sends exactly the given bytes, including malformed ones.
package struct TransportClient: Sendable {
    package let port: Int
    /// The TLS context and the expected host name, or nil for plain HTTP.
    package var security: (context: NIOSSLContext, host: String)?

    package init(port: Int, security: (context: NIOSSLContext, host: String)? = nil) {
        self.port = port
        self.security = security
    }

    package struct Answer: Sendable {
        package var status: Int
        package var headers: [(name: String, value: String)]
        package var body: [UInt8]

        package func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }

        package var text: String { String(decoding: body, as: UTF8.self) }

        package var json: JSONObject {
            guard case .object(let object)? = try? JSONValue(parsing: body, maximumDepth: 1000) else { return [:] }
            return object
        }
    }

    package struct Connection {
        fileprivate let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
        fileprivate var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        fileprivate var received: [UInt8] = []

        package func send(_ text: String) async throws {
            try await outbound.write(ByteBuffer(string: text))
        }

        package func send(_ bytes: [UInt8]) async throws {
            try await outbound.write(ByteBuffer(bytes: bytes))
        }

        /// Sends a byte every 50 ms until the server closes the connection. Returns false after 4,000 bytes.
        package func drips(_ text: String) async throws -> Bool {
            for _ in 0..<4000 {
                guard (try? await send(text)) != nil else { return true }
                try await Task.sleep(for: .milliseconds(50))
            }
            return false
        }

        /// Closes the sending half of the connection.
        package func finish() {
            outbound.finish()
        }

        package mutating func awaitAnswer() async throws {
            if received.isEmpty, let chunk = try await inbound.next() { received += chunk.readableBytesView }
        }

        /// Reads a response, or returns nil if the connection ends.
        package mutating func receive(toHead: Bool = false) async throws -> Answer? {
            while true {
                if let answer = parseAnswer(toHead: toHead) { return answer }
                guard let chunk = try? await inbound.next() else { return nil }
                received += chunk.readableBytesView
            }
        }

        /// Reads this many bytes, or fewer if the connection ends.
        package mutating func receive(bytes count: Int) async throws -> [UInt8] {
            while received.count < count, let chunk = try await inbound.next() { received += chunk.readableBytesView }
            let bytes = Array(received.prefix(count))
            received.removeFirst(bytes.count)
            return bytes
        }

        private mutating func parseAnswer(toHead: Bool) -> Answer? {
            guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
            let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
            var answer = Answer(status: Int(lines[0].split(separator: " ")[1]) ?? 0, headers: [], body: [])
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                answer.headers.append((String(parts[0]), String(parts.last?.drop { $0 == " " } ?? "")))
            }
            let isInformational = answer.status < 200
            let length = toHead || isInformational ? 0 : answer.header("Content-Length").flatMap { Int($0) } ?? 0
            guard received.count - end.upperBound >= length else { return nil }
            answer.body = Array(received[end.upperBound..<end.upperBound + length])
            received.removeFirst(end.upperBound + length)
            return answer
        }
    }

    package func connect<Result: Sendable>(_ body: (inout Connection) async throws -> Result) async throws -> Result {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            // Connecting can take long, because all tests start at once and the machine may be small.
            .connectTimeout(.seconds(60))
            .channelOption(ChannelOptions.allowRemoteHalfClosure, value: true)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let security {
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLClientHandler(context: security.context, serverHostname: security.host))
                    }
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel,
                        configuration: .init(isOutboundHalfClosureEnabled: true))
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var connection = Connection(outbound: outbound, inbound: inbound.makeAsyncIterator())
            return try await body(&connection)
        }
    }

    package func request(
        _ method: String, _ path: String, headers: [String: String] = [:], body: [UInt8] = []
    ) async throws -> Answer {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if !body.isEmpty { head += "Content-Length: \(body.count)\r\n" }
        let bytes = Array((head + "\r\n").utf8) + body
        let answer = try await connect { connection in
            try await connection.send(bytes)
            return try await connection.receive(toHead: method == "HEAD")
        }
        guard let answer else { throw ConnectionEnded() }
        return answer
    }

    package func request(
        _ method: String, _ path: String, headers: [String: String] = [:], text: String
    ) async throws -> Answer {
        try await request(method, path, headers: headers, body: Array(text.utf8))
    }

    package struct ConnectionEnded: Error {}
}
