import DequeModule

/// A queue that serves senders round robin, so a busy sender delays only itself.
///
/// Addresses take turns, and so do the connections of an address, which may be a proxy's.
package struct FairQueue<Work> {
    /// An address and, if known, one of its connections.
    package struct Sender: Hashable {
        var address: [UInt8]
        var connection: ObjectIdentifier?

        package init(address: [UInt8], connection: ObjectIdentifier? = nil) {
            self.address = address
            self.connection = connection
        }
    }

    private struct Entry {
        var number: Int
        var work: Work
    }

    private struct Line {
        var count = 0
        var connections: [ObjectIdentifier?: Deque<Entry>] = [:]
        var order: Deque<ObjectIdentifier?> = []
    }

    private var lines: [[UInt8]: Line] = [:]
    private var order: Deque<[UInt8]> = []

    /// The number of queued entries.
    package private(set) var count = 0

    package init() {}

    /// Appends an entry.
    ///
    /// - Parameter number: A unique number to remove the entry with.
    package mutating func append(_ work: Work, number: Int, from sender: Sender) {
        var line = lines.removeValue(forKey: sender.address) ?? Line()
        if line.count == 0 { order.append(sender.address) }
        if line.connections[sender.connection] == nil { line.order.append(sender.connection) }
        line.connections[sender.connection, default: []].append(Entry(number: number, work: work))
        line.count += 1
        lines[sender.address] = line
        count += 1
    }

    package mutating func popFirst() -> Work? {
        guard let address = order.popFirst(), var line = lines.removeValue(forKey: address),
            let connection = line.order.popFirst(), var entries = line.connections.removeValue(forKey: connection),
            let entry = entries.popFirst()
        else { return nil }
        if !entries.isEmpty {
            line.connections[connection] = entries
            line.order.append(connection)
        }
        line.count -= 1
        if line.count > 0 {
            lines[address] = line
            order.append(address)
        }
        count -= 1
        return entry.work
    }

    /// Removes an entry, or returns nil if it is no longer queued.
    package mutating func remove(number: Int, of sender: Sender) -> Work? {
        guard let entries = lines[sender.address]?.connections[sender.connection],
            let place = entries.firstIndex(where: { $0.number == number })
        else { return nil }
        return remove(at: place, of: sender)
    }

    /// Removes the last entry of the busiest connection of the address with the most entries. Returns nil if `address`
    /// would have as many after adding one.
    package mutating func removeLast(insteadOf address: [UInt8]) -> Work? {
        guard let (longest, line) = lines.max(by: { $0.value.count < $1.value.count }), longest != address,
            line.count > (lines[address]?.count ?? 0) + 1,
            let (connection, entries) = line.connections.max(by: { $0.value.count < $1.value.count })
        else { return nil }
        return remove(at: entries.count - 1, of: Sender(address: longest, connection: connection))
    }

    private mutating func remove(at place: Int, of sender: Sender) -> Work? {
        guard var line = lines.removeValue(forKey: sender.address),
            var entries = line.connections.removeValue(forKey: sender.connection)
        else { return nil }
        let entry = entries.remove(at: place)
        if entries.isEmpty {
            line.order.removeAll { $0 == sender.connection }
        } else {
            line.connections[sender.connection] = entries
        }
        line.count -= 1
        if line.count > 0 { lines[sender.address] = line } else { order.removeAll { $0 == sender.address } }
        count -= 1
        return entry.work
    }
}
