import NIOCore
import NodeHost
import Testing

@Suite struct FrameDecoderTests {
    @Test("Reassembles messages from interleaved frames, however the bytes are split")
    func pieces() throws {
        var stream = ByteBuffer()
        // A message in three chunks, interleaved with two short ones.
        let frames: [(text: String, marks: UInt32)] = [
            ("th", FrameMark.piece), ("one", 0), ("re", FrameMark.piece), ("", 0),
            ("e", FrameMark.piece | FrameMark.last),
        ]
        for (text, marks) in frames {
            stream.writeInteger(UInt32(text.utf8.count) | marks)
            stream.writeString(text)
        }
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

    @Test("Rejects a message by its declared length, before its body arrives")
    func tooLong() {
        let processor = NIOSingleStepByteToMessageProcessor(FrameDecoder(limit: 5))
        var head = ByteBuffer()
        head.writeInteger(UInt32.max)
        #expect(throws: FrameDecoder.TooLong.self) { try processor.process(buffer: head) { _ in } }
    }

    @Test("Rejects a message whose frames together exceed the limit")
    func tooLongTogether() {
        let processor = NIOSingleStepByteToMessageProcessor(FrameDecoder(limit: 5))
        var pieces = ByteBuffer()
        for _ in 0..<2 {
            pieces.writeInteger(UInt32(3) | FrameMark.piece)
            pieces.writeString("abc")
        }
        #expect(throws: FrameDecoder.TooLong.self) { try processor.process(buffer: pieces) { _ in } }
    }

    @Test("Rejects invalid messages", arguments: ["", "1", "{}", #"{"type":"other"}"#, #"{"type":"result"}"#, "{"])
    func noMessage(text: String) {
        #expect(throws: (any Error).self) { try HostMessage(parsing: Array(text.utf8)) }
    }
}
