/// A stack that moves its elements in and out, without the reference counting of copies.
///
/// Manages raw memory, because a Swift array can only copy a range of elements into another collection. The first
/// `count` slots are initialized, the others aren't.
struct MoveStack<Element>: ~Copyable {
    private var base: UnsafeMutablePointer<Element>
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = max(capacity, 1)
        base = .allocate(capacity: self.capacity)
    }

    deinit {
        base.deinitialize(count: count)
        base.deallocate()
    }

    @inline(__always)
    mutating func push(_ element: consuming Element) {
        if count == capacity { grow() }
        (base + count).initialize(to: element)
        count += 1
    }

    /// Passes the topmost `number` elements, lowest first, to `body`, which must move all of them out.
    @inline(__always)
    mutating func moveLast<Result>(_ number: Int, _ body: (UnsafeMutablePointer<Element>) -> Result) -> Result {
        precondition(number <= count)
        count -= number
        return body(base + count)
    }

    /// Pops the topmost elements as an array.
    mutating func popArray(_ number: Int) -> [Element] {
        // The initializer would write the count of the storage that all empty arrays share, which is a data race.
        guard number > 0 else { return [] }
        return moveLast(number) { first in
            Array(unsafeUninitializedCapacity: number) { buffer, initializedCount in
                buffer.baseAddress?.moveInitialize(from: first, count: number)
                initializedCount = number
            }
        }
    }

    @inline(never)
    private mutating func grow() {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
        larger.moveInitialize(from: base, count: count)
        base.deallocate()
        base = larger
        capacity *= 2
    }
}
