import DequeModule

/// A queue that serves its senders round robin: first the sender served longest ago, with its oldest element.
///
/// Removed elements are released immediately. Appending and removing take constant time on average; taking the next
/// element takes time proportional to the number of skipped senders, or of all senders if they are ranked.
public struct SenderQueue<Element> {
    /// Identifies an element in a queue.
    public struct Ticket: Hashable, Sendable {
        let sender: Sender
        let number: Int
    }

    /// The decision about the first element of a sender whose turn it is.
    public enum Choice {
        /// Removes and returns the element.
        case accept
        /// Keeps the element and continues with the next sender.
        case skip
        /// Keeps the element and stops.
        case stop
    }

    private struct Line {
        var elements: [Int: Element] = [:]
        /// The numbers of the elements in order. May contain numbers of removed elements.
        var numbers: Deque<Int> = []

        mutating func dropRemoved() {
            while let first = numbers.first, elements[first] == nil { numbers.removeFirst() }
        }
    }

    private var lines: [Sender: Line] = [:]
    /// Senders with a line, the next one first.
    private var order: Deque<Sender> = []
    private var firstNumber = 0
    private var lastNumber = 0

    public private(set) var count = 0
    public var isEmpty: Bool { count == 0 }

    public init() {}

    public func count(of sender: Sender) -> Int { lines[sender]?.elements.count ?? 0 }

    /// Appends an element to its sender's line.
    ///
    /// - Returns: A ticket for ``remove(_:)``.
    @discardableResult
    public mutating func append(_ element: Element, of sender: Sender) -> Ticket {
        lastNumber += 1
        count += 1
        var line = removeLine(of: sender)
        line.elements[lastNumber] = element
        line.numbers.append(lastNumber)
        lines[sender] = line
        return Ticket(sender: sender, number: lastNumber)
    }

    /// Inserts an element at the front of its sender's line.
    ///
    /// - Returns: A ticket for ``remove(_:)``.
    @discardableResult
    public mutating func prepend(_ element: Element, of sender: Sender) -> Ticket {
        count += 1
        firstNumber -= 1
        var line = removeLine(of: sender)
        line.elements[firstNumber] = element
        line.numbers.prepend(firstNumber)
        lines[sender] = line
        return Ticket(sender: sender, number: firstNumber)
    }

    /// Removes a sender's line to be changed and stored again, which, unlike a change in place, allocates nothing.
    private mutating func removeLine(of sender: Sender) -> Line {
        if let line = lines.removeValue(forKey: sender) { return line }
        order.append(sender)
        return Line()
    }

    /// Removes an element at any position.
    ///
    /// - Returns: The element, or nil if it is no longer in the queue.
    @discardableResult
    public mutating func remove(_ ticket: Ticket) -> Element? {
        guard let element = lines[ticket.sender]?.elements.removeValue(forKey: ticket.number) else { return nil }
        count -= 1
        compact(ticket.sender)
        return element
    }

    /// Removes and returns the next element, with all senders ranked equal.
    public mutating func popFirst(_ choose: (Element, Sender) -> Choice = { _, _ in .accept }) -> (
        element: Element, sender: Sender
    )? { popFirst(by: nil, choose) }

    /// Removes and returns the next element.
    ///
    /// - Parameters:
    ///   - rank: Returns a sender's rank; the lowest goes first. Senders of equal rank are served round robin.
    ///   - choose: Decides about the first element of a sender. The decision on the lowest-ranked sender that isn't
    ///     skipped applies.
    /// - Returns: The element and its sender, or nil if none was taken.
    public mutating func popFirst(
        by rank: ((Sender) -> Duration)?, _ choose: (Element, Sender) -> Choice = { _, _ in .accept }
    ) -> (element: Element, sender: Sender)? {
        var best: (position: Int, choice: Choice, rank: Duration)?
        var position = order.startIndex
        while position < order.endIndex {
            let sender = order[position]
            guard let element = first(of: sender) else {
                order.remove(at: position)
                lines[sender] = nil
                continue
            }
            let own = rank?(sender) ?? .zero
            if best.map({ own < $0.rank }) ?? true, case let choice = choose(element, sender), choice != .skip {
                best = (position, choice, own)
                if rank == nil { break }
            }
            position += 1
        }
        guard let best, best.choice == .accept else { return nil }
        return remove(at: best.position)
    }

    private mutating func first(of sender: Sender) -> Element? {
        if let number = lines[sender]?.numbers.first, let element = lines[sender]?.elements[number] { return element }
        lines[sender]?.dropRemoved()
        return lines[sender]?.numbers.first.flatMap { lines[sender]?.elements[$0] }
    }

    private mutating func remove(at position: Int) -> (element: Element, sender: Sender)? {
        let sender = order.remove(at: position)
        guard var line = lines.removeValue(forKey: sender), let number = line.numbers.popFirst(),
            let element = line.elements.removeValue(forKey: number)
        else { return nil }
        count -= 1
        if !line.elements.isEmpty {
            lines[sender] = line
            order.append(sender)
        }
        return (element, sender)
    }

    /// Drops the numbers of removed elements once they are most of a line.
    private mutating func compact(_ sender: Sender) {
        guard let line = lines[sender], line.numbers.count > 2 * line.elements.count + 16 else { return }
        lines[sender]?.numbers = Deque(line.numbers.filter { line.elements[$0] != nil })
    }
}
