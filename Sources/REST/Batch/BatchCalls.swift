import Synchronization

/// The calls of all batches that are made beside the first of each.
///
/// A call that waits for the database takes some 40 KB. Where many batches wait, as for a row that is locked, those that
/// come make one call after the other: none waits for another batch, and their memory is bounded.
final class BatchCalls: Sendable {
    private let free: Mutex<Int>

    /// - Parameter most: How many there are at most.
    init(most: Int = 500) { free = Mutex(most) }

    /// Takes as many as there are, up to `count`; fewer than one are none.
    ///
    /// - Returns: How many; they are to be given back.
    func take(_ count: Int) -> Int {
        free.withLock { free in
            let taken = max(0, min(count, free))
            free -= taken
            return taken
        }
    }

    /// Gives calls back that were taken.
    func give(back count: Int) { free.withLock { $0 += count } }
}
