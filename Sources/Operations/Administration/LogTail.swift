public import JSON
import Logs
public import ParseModel
import Tasks

/// The log as it goes on: the lines of this process by numbers, so that a reader goes on where it stopped, and what the
/// files of its machine have from before.
public struct LogTail: Sendable {
    let backend: Backend
    private var log: LogRing { backend.log }

    /// A line: its number, when it was written, and its fields.
    public typealias Line = (number: Int, moment: ParseDate, fields: JSONObject)

    /// The name of this process in cursors of the log.
    public var process: String { log.process }

    /// How many lines there have been.
    public var count: Int { log.count }

    /// Whether there are files, which go back further than the memory of the process.
    public var hasFiles: Bool { log.files != nil }

    /// The lines that are remembered of those from a number on, oldest first; errors are remembered for longer.
    public func lines(from number: Int, onlyErrors: Bool) -> [Line] {
        log.lines(from: number, onlyErrors: onlyErrors).map { ($0.number, $0.moment, $0.json.objectValue ?? [:]) }
    }

    /// Lines of the files that are not later than a time, the latest first.
    ///
    /// - Parameters:
    ///   - size: How many are wanted; all of the last millisecond come besides.
    ///   - matches: Which are meant.
    public func lines(
        until time: ParseDate, onlyErrors: Bool, size: Int, matches: @escaping @Sendable (JSONObject) -> Bool
    ) async -> [JSONObject] {
        guard let files = log.files else { return [] }
        var query = LogFileReader.Query()
        query.onlyErrors = onlyErrors
        query.until = time.iso
        query.size = size
        query.matches = matches
        let asked = query
        return await HeavyWork.run { files.lines(asked).map { ScriptLog.shown($0) } }
    }
}
