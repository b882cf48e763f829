import DequeModule

/// Work that waits, served round robin by sender: a sender that brings much delays only itself.
///
/// Addresses are served round robin, and so are the connections of an address, which may be that of a proxy.
package struct FairQueue<Work> {
    /// Whose work something is.
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

    /// How much waits.
    package private(set) var count = 0

    package init() {}

    /// Adds work.
    ///
    /// - Parameter number: Under which it can be removed; no two have one number.
    package mutating func append(_ work: Work, number: Int, from sender: Sender) {
        var line = lines.removeValue(forKey: sender.address) ?? Line()
        if line.count == 0 { order.append(sender.address) }
        if line.connections[sender.connection] == nil { line.order.append(sender.connection) }
        line.connections[sender.connection, default: []].append(Entry(number: number, work: work))
        line.count += 1
        lines[sender.address] = line
        count += 1
    }

    /// Takes the work whose turn it is.
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

    /// Removes work that waits; nil when it does not wait any more.
    package mutating func remove(number: Int, of sender: Sender) -> Work? {
        guard let entries = lines[sender.address]?.connections[sender.connection],
            let place = entries.firstIndex(where: { $0.number == number })
        else { return nil }
        return remove(at: place, of: sender)
    }

    /// Removes what came last of the address that has most waiting, if that is more than an address would have after it
    /// adds one.
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
