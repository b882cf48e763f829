import Limits
import Testing

@Suite("Bounded table")
struct BoundedTableTests {
    @Test("Evicts the least recently used entry")
    func eviction() {
        var table = BoundedTable<Int, String>(capacity: 2)
        table.set("one", for: 1)
        table.set("two", for: 2)
        #expect(table.value(of: 1) == "one")
        #expect(table.set("three", for: 3) == ["two"])
        #expect(table.value(of: 2) == nil)
        #expect(table.value(of: 1) == "one")
        #expect(table.count == 2)
    }

    @Test("Counts replacing a value as a use, with the same weight or another")
    func replacement() {
        for weight in [1, 2] {
            var table = BoundedTable<Int, String>(capacity: 1 + weight)
            table.set("one", for: 1)
            table.set("two", for: 2)
            #expect(table.set("one again", for: 1, weight: weight).isEmpty)
            #expect(table.set("three", for: 3) == ["two"])
            #expect(table.peek(1) == "one again")
        }
    }

    @Test("Limits the total weight, and doesn't keep an entry heavier than the capacity")
    func weight() {
        var table = BoundedTable<Int, String>(capacity: 10)
        table.set("a", for: 1, weight: 4)
        table.set("b", for: 2, weight: 4)
        table.set("c", for: 3, weight: 6)
        #expect(table.peek(1) == nil)
        #expect(table.peek(2) == "b")
        #expect(table.weight == 10)
        table.set("d", for: 4, weight: 11)
        #expect(table.peek(4) == nil)
        #expect(table.count == 2)
    }

    @Test("Replaces and removes entries, and can be filled again after it was emptied")
    func changes() {
        var table = BoundedTable<String, Int>(capacity: 3)
        for (index, key) in ["a", "b", "c", "a"].enumerated() { table.set(index, for: key) }
        #expect(table.peek("a") == 3)
        #expect(table.remove("b") == 1)
        table.removeAll { key, _ in key == "c" }
        #expect(table.count == 1)
        table.removeAll()
        #expect(table.count == 0)
        for index in 0..<1_000 { table.set(index, for: String(index)) }
        #expect(table.count == 3)
        #expect(Set(table.all.map(\.key)) == ["997", "998", "999"])
    }
}
