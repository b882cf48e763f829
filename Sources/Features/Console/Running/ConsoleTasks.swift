import HTTP
import JSON
internal import ParseModel
internal import ParseStorage
import Synchronization

/// Long work that operators began. It goes on when they leave, and is known for a while after it ended.
final class ConsoleTasks: Sendable {
    /// How many are known at most; those that ended first go first.
    private static let most = 100
    /// How long one that ended is known.
    private static let memory = Duration.seconds(3_600)

    /// One piece of work.
    struct Item: Sendable {
        enum State: String { case running, done, failed, cancelled }

        let id: String
        let kind: String
        let className: String
        let startedAt: ParseDate
        var state = State.running
        /// How much is done, in percent.
        var done = 0
        var message: String
        var result: JSONValue?
        fileprivate let began = ContinuousClock.now
        fileprivate var ended: ContinuousClock.Instant?
        fileprivate var work: Task<Void, Never>?
        fileprivate var isStopped = false

        /// Describes work that begins.
        init(id: String, kind: String, className: String, startedAt: ParseDate, message: String) {
            self.id = id
            self.kind = kind
            self.className = className
            self.startedAt = startedAt
            self.message = message
        }

        /// What the page gets of it.
        var json: JSONValue {
            var object: JSONObject = [
                "id": .string(id), "kind": .string(kind), "className": .string(className),
                "state": .string(state.rawValue), "done": .number(Double(done)), "total": 100, "unit": "%",
                "message": .string(message), "startedAt": .string(startedAt.iso),
            ]
            object["result"] = result
            if state == .running, (5..<100).contains(done) {
                let all = (ContinuousClock.now - began) * 100 / done
                object["endsAbout"] = .string(
                    ParseDate(milliseconds: startedAt.milliseconds + Int64(all / .milliseconds(1))).iso)
            }
            return .object(object)
        }
    }

    private let items = Mutex<[Item]>([])

    /// Begins work, unless the same kind of work is being done for the class.
    ///
    /// - Parameter work: Gives the result.
    /// - Returns: Whether it began.
    func begin(
        _ item: Item, _ work: @Sendable @escaping () async throws -> JSONValue,
        ended: @Sendable @escaping ((any Error)?) async -> String
    ) -> Bool {
        items.withLock { items in
            let now = ContinuousClock.now
            items.removeAll { $0.ended.map { now - $0 > Self.memory } ?? false }
            if items.count >= Self.most, let first = items.firstIndex(where: { $0.ended != nil }) {
                items.remove(at: first)
            }
            let isBusy = items.contains {
                $0.state == .running && $0.kind == item.kind && $0.className.hasSameBytes(as: item.className)
            }
            guard !isBusy, items.count < Self.most else { return false }
            let id = item.id
            var item = item
            item.work = Task {
                do {
                    let result = try await work()
                    let message = await ended(nil)
                    self.change(id) {
                        ($0.state, $0.done, $0.message, $0.result) = (.done, 100, message, result)
                        $0.ended = .now
                    }
                } catch {
                    let message = await ended(error)
                    self.change(id) {
                        ($0.state, $0.message) = ($0.isStopped ? (.cancelled, "Stopped.") : (.failed, message))
                        $0.ended = .now
                    }
                }
            }
            items.append(item)
            return true
        }
    }

    /// All that are known, the last first.
    var all: [Item] { items.withLock { $0.reversed() } }

    /// The work of an id; nil where it is not known, or not any more.
    func item(_ id: String) -> Item? { items.withLock { items in items.first { $0.id == id } } }

    /// Notes how far work is that has not ended.
    func note(_ id: String, _ done: Int, _ message: String) {
        change(id) { if $0.state == .running { ($0.done, $0.message) = (max($0.done, done), message) } }
    }

    /// Has work stop, which may take as long as a statement of it waits for others.
    func stop(_ id: String) {
        let work = items.withLock { items -> Task<Void, Never>? in
            guard let index = items.firstIndex(where: { $0.id == id }), items[index].state == .running else {
                return nil
            }
            items[index].isStopped = true
            return items[index].work
        }
        work?.cancel()
    }

    private func change(_ id: String, _ edit: (inout Item) -> Void) {
        items.withLock { items in
            if let index = items.firstIndex(where: { $0.id == id }) { edit(&items[index]) }
        }
    }
}

extension ConsoleCalls {
    /// Begins work that goes on when the call is answered.
    ///
    /// - Parameters:
    ///   - done: What the work says when it is done.
    ///   - work: Gives the result.
    ///   - ended: Called with the status of the end before the page learns of it, as far as the database is there: the
    ///     entry of the audit is complete then.
    /// - Returns: The answer; nil where such work is under way.
    func begin(
        _ item: ConsoleTasks.Item, done: String, _ work: @Sendable @escaping () async throws -> JSONValue,
        ended: @Sendable @escaping (_ status: Int) async -> Void
    ) -> Reply? {
        let (dispatcher, request) = (interface.dispatcher, visit.request.id)
        let isBegun = interface.tasks.begin(item, work) { error in
            let reply = error.map { dispatcher.reply(to: $0, request) }
            await Task { await ended(reply?.status ?? 200) }.value
            guard let reply else { return done }
            guard case .json(let bytes) = reply.body, let value = try? JSONValue(parsing: bytes) else { return "" }
            return value["error"]?.stringValue ?? ""
        }
        return isBegun ? .object(interface.tasks.item(item.id)?.json.objectValue ?? [:], status: 202) : nil
    }

    /// Begins such work with an entry of the audit, which its end completes.
    ///
    /// - Parameter busy: What the caller gets to read where such work is under way.
    func begin(
        _ item: ConsoleTasks.Item, _ entry: AuditEntry, done: String, busy: String,
        _ work: @Sendable @escaping () async throws -> JSONValue
    ) async throws -> Reply {
        let rows = interface.backend.store.audit
        let row = try await rows.begin(entry)
        let reply = begin(item, done: done, work) { status in
            await rows.complete(row, status: status, ids: nil, after: nil)
        }
        if let reply { return reply }
        await rows.complete(row, status: 409, ids: nil, after: nil)
        throw HTTPError(status: 409, message: busy)
    }
}
