import HTTP
import NIOCore
import NIOEmbedded
import REST
import Testing

@Suite("Flushing responses")
struct FlushCoalescerTests {
    /// Connections of an event loop whose turns the test ends.
    private struct Connections {
        let eventLoop = EmbeddedEventLoop()
        let channels: [EmbeddedChannel]
        let connections: [HTTPConnection]

        init(_ number: Int) {
            let flushCoalescer = FlushCoalescer(of: eventLoop)
            channels = (0..<number).map { [eventLoop] _ in EmbeddedChannel(loop: eventLoop) }
            let transferTimeout = TransferTimeout(limits: HTTPServer.Limits())
            connections = channels.map {
                HTTPConnection($0, flushCoalescer: flushCoalescer, transferTimeout: transferTimeout)
            }
        }

        /// The text sent on a connection.
        func sent(_ index: Int) throws -> String {
            var text = ""
            while let buffer = try channels[index].readOutbound(as: ByteBuffer.self) { text += String(buffer: buffer) }
            return text
        }
    }

    @Test("Sends the responses of all connections at the end of the event-loop turn, in order per connection")
    func turn() throws {
        let all = Connections(3)
        for turn in ["a", "b"] {
            for index in [0, 1, 0] { #expect(all.connections[index].write(ByteBuffer(string: "\(turn)\(index)"))) }
            #expect(try (0..<3).map(all.sent) == ["", "", ""])
            all.eventLoop.run()
            #expect(try (0..<3).map(all.sent) == ["\(turn)0\(turn)0", "\(turn)1", ""])
        }
    }

    @Test("Sends a large response immediately, after the connection's queued ones")
    func manyBytes() throws {
        let all = Connections(2)
        _ = all.connections[0].write(ByteBuffer(string: "a"))
        _ = all.connections[1].write(ByteBuffer(string: "b"))
        _ = all.connections[1].write(ByteBuffer(repeating: UInt8(ascii: "c"), count: 20_000))
        #expect(try all.sent(0).isEmpty)
        #expect(try all.sent(1) == "b" + String(repeating: "c", count: 20_000))
        all.eventLoop.run()
        #expect(try (0..<2).map(all.sent) == ["a", ""])
    }

    @Test("Sends queued responses before closing the connection")
    func closing() throws {
        let all = Connections(2)
        for connection in all.connections { _ = connection.write(ByteBuffer(string: "last")) }
        all.connections[0].close()
        #expect(try (0..<2).map(all.sent) == ["last", ""])
        all.eventLoop.run()
        #expect(try (0..<2).map(all.sent) == ["", "last"])
    }
}
