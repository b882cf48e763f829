import JSON
import Logging
import Logs
import ParseModel
public import ParseStorage
import Synchronization
import Tasks

/// The log of all processes, in the database: each second what was logged goes there, away from all requests, and
/// `/scriptlog` and the console read it there.
public final class SharedLog: Sendable {
    private struct Pending {
        var lines: [LogRing.Line] = []
        var dropped = 0
    }

    private let pending = Mutex(Pending())
    /// How many days are kept.
    private let kept: Int
    private let process: String

    /// The lines of a second of which all are kept; of what comes besides, warnings are, and each tenth line.
    private static let mostASecond = 1_000
    /// The lines that wait at most, while the database is out of reach.
    static let mostWaiting = 10_000
    /// How many rows are read at a time, and how many for an answer.
    private static let (page, mostRead) = (LogTail.most, 20_000)

    init(kept: Int, process: String) { (self.kept, self.process) = (kept, process) }

    package var waiting: Int { pending.withLock { $0.lines.count } }

    package func add(_ line: LogRing.Line) {
        pending.withLock { pending in
            let count = pending.lines.count
            let isKept = count < Self.mostASecond || line.level >= .warning || line.number % 10 == 0
            if isKept, count < Self.mostWaiting { pending.lines.append(line) } else { pending.dropped += 1 }
        }
    }

    /// Stores what comes until the task is cancelled, and then what is left.
    public func run(_ store: ObjectStore, _ logger: Logger) async {
        var (day, hasFailed) = ("", false)
        var isOver = false
        while !isOver {
            try? await Task.sleep(for: .seconds(1))
            // Looked at before: what comes while the last but one is sent is sent, too.
            isOver = Task.isCancelled
            // What is left at the end is sent by a task that nothing cancels.
            (day, hasFailed) = await Task { [day, hasFailed] in await send(to: store, logger, day, hasFailed) }.value
        }
    }

    /// - Returns: The day for which there is room in the table, and whether the database took nothing.
    private func send(
        to store: ObjectStore, _ logger: Logger, _ day: String, _ hasFailed: Bool
    ) async -> (String, Bool) {
        let taken = take()
        let today = String(ParseDate.now.iso.prefix(10))
        do {
            if day != today { try await store.log.prepare(day: today, kept: kept) }
            guard !taken.lines.isEmpty || taken.dropped > 0 else { return (today, false) }
            try await store.log.add(await rows(taken), day: today)
            return (today, false)
        } catch {
            putBack(taken)
            if !hasFailed { logger.warning("log lines cannot be stored", metadata: ["reason": "\(error)"]) }
            // The table may have been removed.
            return ("", true)
        }
    }

    @inline(never)
    private func take() -> Pending {
        pending.withLock { pending in
            defer { pending = Pending() }
            return pending
        }
    }

    @inline(never)
    private func putBack(_ taken: Pending) {
        pending.withLock { pending in
            let room = max(0, Self.mostWaiting - taken.lines.count)
            pending.dropped += taken.dropped + max(0, pending.lines.count - room)
            pending.lines = taken.lines + pending.lines.prefix(room)
        }
    }

    private func rows(_ taken: Pending) async -> [LogRows.Line] {
        await HeavyWork.run {
            var rows = taken.lines.map { row($0.moment, $0.level, $0.json.objectValue ?? [:]) }
            if taken.dropped > 0 {
                let count = JSONValue.number(Double(taken.dropped))
                rows.append(row(.now, .warning, ["message": "log lines were left out", "count": count]))
            }
            return rows
        }
    }

    private func row(_ moment: ParseDate, _ level: Logger.Level, _ fields: JSONObject) -> LogRows.Line {
        var fields = fields
        fields["level"] = .string(level.parseName)
        fields["timestamp"] = .string(moment.iso)
        fields["process"] = .string(process)
        return LogRows.Line(
            moment: moment.milliseconds, isError: level >= .error, text: JSONValue.object(fields).text)
    }

    /// The lines that are asked for, in the order that is; nil where the database cannot be asked.
    func lines(_ query: LogFileReader.Query, from: ParseDate, until: ParseDate, _ store: ObjectStore) async
        -> [JSONObject]?
    {
        let range = LogRows.Range(
            from: max(0, from.milliseconds), until: max(0, until.milliseconds), onlyErrors: query.onlyErrors,
            isAscending: query.isAscending)
        var found: [JSONObject] = []
        var last: Int64?
        for skip in stride(from: 0, to: Self.mostRead, by: Self.page) {
            guard let rows = try? await store.log.lines(range, skip: skip, limit: Self.page) else { return nil }
            for row in rows {
                // Lines of one millisecond are never torn apart, so that a pager misses none.
                if found.count >= query.size, row.moment != last { return found }
                guard let fields = Self.fields(row), query.matches(fields) else { continue }
                found.append(fields)
                last = row.moment
            }
            if rows.count < Self.page { break }
        }
        return found
    }

    /// Lines from a number on, the oldest first; the latest of them for 0.
    func lines(from number: Int, onlyErrors: Bool, _ store: ObjectStore) async -> [LogTail.Line] {
        let range = LogRows.Range(
            from: Int64(number), until: .max, isByID: true, onlyErrors: onlyErrors, isAscending: number > 0)
        let rows = (try? await store.log.lines(range, skip: 0, limit: Self.page)) ?? []
        let lines = rows.map { row in
            (number: Int(row.id), moment: ParseDate(milliseconds: row.moment), fields: Self.fields(row) ?? [:])
        }
        return number > 0 ? lines : lines.reversed()
    }

    private static func fields(_ row: LogRows.Line) -> JSONObject? {
        (try? JSONValue(parsing: Array(row.text.utf8)))?.objectValue
    }
}
