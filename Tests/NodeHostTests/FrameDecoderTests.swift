import NIOCore
import Testing

@testable import NodeHost

/// Messages in a stream of bytes.
@Suite struct FrameDecoderTests {
    private static let allocator = ByteBufferAllocator()

    @Test("Messages come whole, however the bytes are cut")
    func pieces() throws {
        var stream = FrameDecoder.frame(Array("one".utf8), in: Self.allocator)
        stream.writeImmutableBuffer(FrameDecoder.frame([], in: Self.allocator))
        stream.writeImmutableBuffer(FrameDecoder.frame(Array("three".utf8), in: Self.allocator))
        let bytes = Array(stream.readableBytesView)
        for size in 1...bytes.count {
            var texts: [String] = []
            let processor = NIOSingleStepByteToMessageProcessor(FrameDecoder(limit: 5))
            for start in stride(from: 0, to: bytes.count, by: size) {
                let piece = ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)])
                try processor.process(buffer: piece) { texts.append(String(buffer: $0)) }
            }
            #expect(texts == ["one", "", "three"])
        }
    }

    @Test("A message that says it is longer than may be is refused before it is read")
    func tooLong() {
        let processor = NIOSingleStepByteToMessageProcessor(FrameDecoder(limit: 5))
        var head = ByteBuffer()
        head.writeInteger(UInt32.max)
        #expect(throws: FrameDecoder.TooLong.self) { try processor.process(buffer: head) { _ in } }
    }

    @Test(
        "What is no message is refused", arguments: ["", "1", "{}", #"{"type":"other"}"#, #"{"type":"result"}"#, "{"])
    func noMessage(text: String) {
        #expect(throws: (any Error).self) { try HostMessage(parsing: Array(text.utf8)) }
    }
}
