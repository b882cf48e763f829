import Postgres
import Testing

@Suite("Prepared-statement cache of a connection")
struct StatementCacheTests {
    private static func key(_ number: Int, size: Int = 10) -> StatementKey {
        StatementKey(sql: "SELECT \(number) -- " + String(repeating: "x", count: size), slots: [])
    }

    @Test("Evicts the least recently used statement beyond the limit")
    func number() {
        var cache = StatementCache(limit: 3)
        for number in 0..<3 { _ = cache.insert(Self.key(number), sequence: UInt64(number)) }
        #expect(cache.find(Self.key(0), sequence: 10) != nil)
        _ = cache.insert(Self.key(3), sequence: 11)
        #expect(cache.count == 3)
        #expect(cache.find(Self.key(0), sequence: 12) != nil)
        #expect(cache.find(Self.key(1), sequence: 12) == nil)
        #expect(cache.drainDropped().count == 1)
    }

    @Test("Limits the bytes of cached statements, and removed statements free theirs")
    func bytes() {
        var cache = StatementCache(limit: 512, byteLimit: 100_000)
        for number in 0..<50 { _ = cache.insert(Self.key(number, size: 10_000), sequence: UInt64(number)) }
        #expect(cache.count == 9)
        #expect(cache.drainDropped().count == 41)
        for number in 100..<200 { _ = cache.insert(Self.key(number), sequence: UInt64(number)) }
        #expect((100..<200).allSatisfy { cache.find(Self.key($0), sequence: 300) != nil })
        cache.drop(Self.key(100), upTo: 400)
        cache.removeAll()
        for number in 0..<9 { _ = cache.insert(Self.key(number, size: 10_000), sequence: UInt64(number)) }
        #expect(cache.count == 9)
    }
}
