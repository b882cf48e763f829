public import JSON
import Logs
public import ParseModel
import Tasks

/// The log as it goes on: the lines of this process by numbers, so that a reader goes on where it stopped, and what the
/// files of its machine have from before; or the lines of all processes, where the database keeps them.
public struct LogTail: Sendable {
    let backend: Backend
    private var log: LogRing { backend.log }

    /// A line: its number, when it was written, and its fields.
    public typealias Line = (number: Int, moment: ParseDate, fields: JSONObject)

    /// What numbers are of in cursors of the log: this process, or the database.
    public var process: String { log.shared == nil ? log.process : "db" }

    /// Whether the lines are those of all processes.
    public var isShared: Bool { log.shared != nil }

    /// How many lines come at a time where there may be more.
    public static let most = 1_000

    /// How many lines there have been; nil where the database cannot be asked.
    public func count() async -> Int? {
        guard log.shared != nil else { return log.count }
        return try? await Int(backend.store.log.latest()) + 1
    }

    /// How long to wait until there may be more.
    public var pause: Duration { log.shared == nil ? .milliseconds(200) : .seconds(1) }

    /// Whether there are files, or rows, which go back further than the memory of the process.
    public var hasFiles: Bool { log.files != nil || log.shared != nil }

    /// The lines that are remembered of those from a number on, oldest first; errors are remembered for longer. Of those in
    /// the database a thousand.
    public func lines(from number: Int, onlyErrors: Bool) async -> [Line] {
        if let shared = log.shared { return await shared.lines(from: number, onlyErrors: onlyErrors, backend.store) }
        return log.lines(from: number, onlyErrors: onlyErrors).map {
            ($0.number, $0.moment, $0.json.objectValue ?? [:])
        }
    }

    /// Lines of the files that are not later than a time, the latest first.
    ///
    /// - Parameters:
    ///   - size: How many are wanted; all of the last millisecond come besides.
    ///   - matches: Which are meant.
    public func lines(
        until time: ParseDate, onlyErrors: Bool, size: Int, matches: @escaping @Sendable (JSONObject) -> Bool
    ) async -> [JSONObject] {
        var query = LogFileReader.Query()
        query.onlyErrors = onlyErrors
        query.until = time.iso
        query.size = size
        query.matches = matches
        let asked = query
        let start = ParseDate(milliseconds: 0)
        if let found = await log.shared?.lines(asked, from: start, until: time, backend.store) {
            return found.map { ScriptLog.shown($0) }
        }
        guard let files = log.files else { return [] }
        return await HeavyWork.run { files.lines(asked).map { ScriptLog.shown($0) } }
    }
}
