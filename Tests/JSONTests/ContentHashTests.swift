import JSON
import Testing

@Suite struct ContentHashTests {
    @Test("Equal bytes have equal hashes")
    func stable() {
        #expect(ContentHash.of([]) == ContentHash.of([]))
        let text = Array("{\"objectId\":\"abc\",\"n\":1}".utf8)
        #expect(ContentHash.of(text) == ContentHash.of(text))
    }

    @Test("Changing any byte, the length or the order changes the hash")
    func sensitive() {
        let text = (0..<100).map { UInt8($0) }
        var seen: Set<UInt64> = [ContentHash.of(text)]
        for index in text.indices {
            var changed = text
            changed[index] ^= 0x80
            seen.insert(ContentHash.of(changed))
            seen.insert(ContentHash.of(Array(text[..<index])))
        }
        seen.insert(ContentHash.of(text.reversed()))
        seen.insert(ContentHash.of(text + [0]))
        #expect(seen.count == 203)
    }
}
