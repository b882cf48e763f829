import HTTP
import NIOCore
import Synchronization
import Testing

@Suite("Receive buffers")
struct ReceiveBuffersTests {
    private final class Body: Sendable { let isLarge = Atomic(false) }

    @Test("Buffers grow to their maximum only for large bodies, and shrink afterward")
    func sizes() {
        let body = Body()
        var buffers = ReceiveBuffers { body.isLarge.load(ordering: .relaxed) }
        var capacity: Int { buffers.buffer(allocator: ByteBufferAllocator()).capacity }
        func fill() -> Bool { buffers.record(actualReadBytes: capacity) }

        #expect(capacity == ReceiveBuffers.smallest)
        for _ in 0..<10 { #expect(fill()) }
        #expect(capacity == ReceiveBuffers.usual)
        body.isLarge.store(true, ordering: .relaxed)
        for _ in 0..<10 { #expect(fill()) }
        #expect(capacity == ReceiveBuffers.largest)
        body.isLarge.store(false, ordering: .relaxed)
        #expect(capacity == ReceiveBuffers.usual)
        for _ in 0..<10 { _ = buffers.record(actualReadBytes: 1) }
        #expect(capacity == ReceiveBuffers.smallest)
        let mayGrow = buffers.record(actualReadBytes: 1)
        #expect(!mayGrow)
    }
}
