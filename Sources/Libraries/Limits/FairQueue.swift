import DequeModule

/// A queue that serves senders round robin, and likewise each sender's connections, since a sender may be a proxy.
///
/// Unlike ``SenderQueue``, it makes room for other senders by removing work of the busiest one.
package struct FairQueue<Work> {
    /// A sender and, if known, one of its connections.
    package struct Source: Hashable, Sendable {
        package let sender: Sender
        let connection: ObjectIdentifier?

        package init(_ sender: Sender, _ connection: ObjectIdentifier? = nil) {
            self.sender = sender
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

    private var lines: [Sender: Line] = [:]
    private var order: Deque<Sender> = []

    /// The number of queued entries.
    package private(set) var count = 0

    package init() {}

    /// Appends an entry.
    ///
    /// - Parameter number: A unique number to remove the entry with.
    package mutating func append(_ work: Work, number: Int, from source: Source) {
        var line = lines.removeValue(forKey: source.sender) ?? Line()
        if line.count == 0 { order.append(source.sender) }
        if line.connections[source.connection] == nil { line.order.append(source.connection) }
        line.connections[source.connection, default: []].append(Entry(number: number, work: work))
        line.count += 1
        lines[source.sender] = line
        count += 1
    }

    package mutating func popFirst() -> Work? {
        guard let sender = order.popFirst(), var line = lines.removeValue(forKey: sender),
            let connection = line.order.popFirst(), var entries = line.connections.removeValue(forKey: connection),
            let entry = entries.popFirst()
        else { return nil }
        if !entries.isEmpty {
            line.connections[connection] = entries
            line.order.append(connection)
        }
        line.count -= 1
        if line.count > 0 {
            lines[sender] = line
            order.append(sender)
        }
        count -= 1
        return entry.work
    }

    /// Removes an entry, or returns nil if it is no longer queued.
    package mutating func remove(number: Int, of source: Source) -> Work? {
        guard let entries = lines[source.sender]?.connections[source.connection],
            let place = entries.firstIndex(where: { $0.number == number })
        else { return nil }
        return remove(at: place, of: source)
    }

    /// Removes the last entry of the busiest connection of the sender with the most entries. Returns nil if `sender`
    /// would have at least as many after adding one.
    package mutating func removeLast(insteadOf sender: Sender) -> Work? {
        guard let (longest, line) = lines.max(by: { $0.value.count < $1.value.count }), longest != sender,
            line.count > (lines[sender]?.count ?? 0) + 1,
            let (connection, entries) = line.connections.max(by: { $0.value.count < $1.value.count })
        else { return nil }
        return remove(at: entries.count - 1, of: Source(longest, connection))
    }

    private mutating func remove(at place: Int, of source: Source) -> Work? {
        guard var line = lines.removeValue(forKey: source.sender),
            var entries = line.connections.removeValue(forKey: source.connection)
        else { return nil }
        let entry = entries.remove(at: place)
        if entries.isEmpty {
            line.order.removeAll { $0 == source.connection }
        } else {
            line.connections[source.connection] = entries
        }
        line.count -= 1
        if line.count > 0 { lines[source.sender] = line } else { order.removeAll { $0 == source.sender } }
        count -= 1
        return entry.work
    }
}
