import HTTP
import JSON
import Limits
internal import Operations
internal import ParseModel
internal import ParseStorage
import Synchronization

/// Long-running tasks that operators have started. A task continues when the operator leaves. An ended task may be
/// removed after an hour, or earlier if there are too many.
final class ConsoleTasks: Sendable {
    /// The maximum number of tasks. The oldest ended task is removed first.
    private static let maxTasks = 100
    private static let memory = Duration.seconds(3_600)

    struct Item: Sendable {
        enum State: String { case running, done, failed, cancelled }

        let id = Identifiers.alphanumeric(10)
        let kind: String
        let className: String
        let startedAt: ParseDate
        var state = State.running
        /// The progress in percent.
        var done = 0
        var message: String
        var result: JSONValue?
        fileprivate let began = ContinuousClock.now
        fileprivate var ended: ContinuousClock.Instant?
        fileprivate var work: Task<Void, Never>?
        fileprivate var isStopped = false

        init(kind: String, className: String = "", startedAt: ParseDate, message: String = "Starting.") {
            self.kind = kind
            self.className = className
            self.startedAt = startedAt
            self.message = message
        }

        /// The JSON for the console page.
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

    /// Starts a task, unless one of the same kind is running for the class or too many are running.
    ///
    /// - Parameters:
    ///   - work: Returns the result of the task.
    ///   - ended: Called when the work ends, with its error if it failed. Returns the final message.
    /// - Returns: Whether the task was started.
    func begin(
        _ item: Item, _ work: @Sendable @escaping () async throws -> JSONValue,
        ended: @Sendable @escaping ((any Error)?) async -> String
    ) -> Bool {
        // The task outlives the request: a closed client connection must not cancel its slow reads.
        let caller = CallerPresence(sender: .current)
        return items.withLock { items in
            let now = ContinuousClock.now
            items.removeAll { $0.ended.map { now - $0 > Self.memory } ?? false }
            if items.count >= Self.maxTasks, let first = items.firstIndex(where: { $0.ended != nil }) {
                items.remove(at: first)
            }
            let isBusy = items.contains {
                $0.state == .running && $0.kind == item.kind && $0.className.hasSameBytes(as: item.className)
            }
            guard !isBusy, items.count < Self.maxTasks else { return false }
            let id = item.id
            var item = item
            item.work = Task {
                do {
                    let result = try await CallerPresence.$current.withValue(caller) { try await work() }
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

    /// All tasks, the latest first.
    var all: [Item] { items.withLock { $0.reversed() } }

    /// Returns a task, or nil if it is unknown or has expired.
    func item(_ id: String) -> Item? { items.withLock { items in items.first { $0.id == id } } }

    /// Updates the progress of a running task.
    func update(_ id: String, _ done: Int, _ message: String) {
        change(id) { if $0.state == .running { ($0.done, $0.message) = (max($0.done, done), message) } }
    }

    /// Cancels a task. A statement of the task that waits for locks may delay its end.
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
    /// Starts a task that continues after the response.
    ///
    /// - Parameters:
    ///   - entry: The audit entry, completed when the task ends, or nil for a task that changes nothing.
    ///   - done: The message when the work has succeeded.
    ///   - busy: The error message if such a task or too many others are already running.
    ///   - work: Returns the result of the task.
    func begin(
        _ item: ConsoleTasks.Item, _ entry: AuditEntry? = nil, done: String, busy: String,
        _ work: @Sendable @escaping () async throws -> JSONValue
    ) async throws -> Reply {
        let (dispatcher, request, rows) = (interface.dispatcher, visit.request.id, interface.backend.store.audit)
        let row: Int? = if let entry { try await rows.begin(entry) } else { nil }
        let complete = { @Sendable (status: Int) in
            if let row { await rows.complete(row, status: status, ids: nil, after: nil) }
        }
        let isBegun = interface.tasks.begin(item, work) { error in
            let reply = error.map { dispatcher.reply(to: $0, request) }
            // Completes the audit entry before the page sees the end, and even if the task was stopped.
            await Task { await complete(reply?.status ?? 200) }.value
            guard let reply else { return done }
            guard case .json(let bytes) = reply.body, let value = try? JSONValue(parsing: bytes) else { return "" }
            return value["error"]?.stringValue ?? ""
        }
        if isBegun { return .object(interface.tasks.item(item.id)?.json.objectValue ?? [:], status: 202) }
        await complete(409)
        throw HTTPError(status: 409, message: busy)
    }
}
