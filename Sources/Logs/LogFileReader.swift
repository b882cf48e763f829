import Foundation
public import JSON
import ParseModel

/// Reads log files from where a time begins or ends. Lines are in the order of their times, so that a few blocks of a
/// file lead to a moment in it, however large it is.
public struct LogFileReader: Sendable {
    /// What is asked for.
    public struct Query: Sendable {
        /// Whether only errors are.
        public var onlyErrors = false
        /// The times between which the lines are, as lines have them.
        public var from = "", until = ""
        /// How many lines are wanted. Lines of one millisecond are never torn apart, so that a pager misses none.
        public var size = 10
        /// Whether the oldest come first.
        public var isAscending = false
        /// Which lines are meant.
        public var matches: @Sendable (JSONObject) -> Bool = { _ in true }

        /// The latest lines.
        public init() {}
    }

    struct Name {
        let text: String
        let day: String
        let number: Int

        init?(_ text: String, _ kind: LogFiles.Kind) {
            guard text.hasPrefix(kind.rawValue) else { return nil }
            let parts = text.dropFirst(kind.rawValue.count).split(separator: ".", omittingEmptySubsequences: false)
            guard let day = parts.first, day.utf8.count == 10, ParseDate(iso: String(day)) != nil, parts.count <= 2
            else { return nil }
            self.text = text
            self.day = String(day)
            guard let number = parts.count == 1 ? 0 : Int(parts[1]) else { return nil }
            self.number = number
        }

        func isOlder(than days: Int, on today: String) -> Bool {
            guard let own = ParseDate(iso: day), let today = ParseDate(iso: today) else { return false }
            return today.milliseconds - own.milliseconds >= Int64(days) * 86_400_000
        }
    }

    let folder: String

    /// Reads the files of a folder.
    public init(folder: String) { self.folder = folder }

    /// The most bytes that are looked at for an answer.
    private static let mostBytes = 16 * 1024 * 1024
    private static let blockSize = 64 * 1024

    /// The files of a kind, the oldest first.
    func names(_ kind: LogFiles.Kind) -> [Name] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.compactMap { Name($0, kind) }.sorted { ($0.day, $0.number) < ($1.day, $1.number) }
    }

    /// The lines that are asked for, in the order that is.
    public func lines(_ query: Query) -> [JSONObject] {
        let names = names(query.onlyErrors ? .errors : .all).filter {
            $0.day >= query.from.prefix(10) && $0.day <= query.until.prefix(10)
        }
        var search = Search(query)
        for name in query.isAscending ? names : names.reversed() {
            guard let file = File(path: "\(folder)/\(name.text)") else { continue }
            if query.isAscending { search.readForward(file) } else { search.readBackward(file) }
            if search.isOver { break }
        }
        return search.found
    }

    private struct File {
        let handle: FileHandle
        let size: Int

        init?(path: String) {
            // A pipe of that name would be waited for.
            let type = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
            guard type == .typeRegular, let handle = FileHandle(forReadingAtPath: path),
                let size = try? handle.seekToEnd()
            else { return nil }
            self.handle = handle
            self.size = Int(size)
        }

        func read(from offset: Int, count: Int) -> [UInt8] {
            guard (try? handle.seek(toOffset: UInt64(offset))) != nil else { return [] }
            return (try? handle.read(upToCount: count)).flatMap { $0 }.map { Array($0) } ?? []
        }

        /// An offset before which all lines are earlier than a time; at most a block before the first that is not.
        func offset(before time: String) -> Int {
            var (low, high) = (0, size)
            while high - low > LogFileReader.blockSize {
                let middle = low + (high - low) / 2
                if let found = firstTime(from: middle, until: high), found < time {
                    low = middle
                } else {
                    high = middle
                }
            }
            return low
        }

        /// The time of the first line that begins behind an offset; nil where none begins before another offset.
        private func firstTime(from offset: Int, until end: Int) -> String? {
            var offset = offset
            while offset < end {
                // A line that begins at the end of the block has its time behind it.
                var block = read(from: offset, count: LogFileReader.blockSize + 64)[...]
                while let lineEnd = block.firstIndex(of: LogFileReader.lineFeed) {
                    block = block[(lineEnd + 1)...]
                    if let time = LogFileReader.time(of: block) { return time }
                }
                offset += LogFileReader.blockSize
            }
            return nil
        }
    }

    private struct Search {
        let query: Query
        var found: [JSONObject] = []
        var isOver = false
        private var looked = 0
        private var lastTime = ""

        init(_ query: Query) { self.query = query }

        /// Takes a line; it may be the one behind the last.
        private mutating func take(_ line: ArraySlice<UInt8>) {
            guard let time = LogFileReader.time(of: line) else { return }
            if query.isAscending ? time < query.from : time > query.until { return }
            if query.isAscending ? time > query.until : time < query.from {
                isOver = true
                return
            }
            if found.count >= query.size, time != lastTime {
                isOver = true
                return
            }
            guard let object = (try? JSONValue(parsing: Array(line)))?.objectValue, query.matches(object) else {
                return
            }
            found.append(object)
            lastTime = time
        }

        mutating func readForward(_ file: File) {
            var offset = file.offset(before: query.from)
            var rest: [UInt8] = []
            var skipsFirst = offset > 0
            while !isOver, offset < file.size {
                let block = file.read(from: offset, count: LogFileReader.blockSize)
                guard !block.isEmpty, mayLook(at: block.count) else { return }
                offset += block.count
                rest += block
                while !isOver, let end = rest.firstIndex(of: LogFileReader.lineFeed) {
                    if !skipsFirst { take(rest[..<end]) }
                    skipsFirst = false
                    rest.removeSubrange(...end)
                }
            }
        }

        mutating func readBackward(_ file: File) {
            // Behind the last line that is not later: a block and a line more.
            var end = min(file.size, file.offset(before: query.until + "~") + 3 * LogFileReader.blockSize)
            var rest: [UInt8] = []
            while !isOver, end > 0 {
                let start = max(0, end - LogFileReader.blockSize)
                let block = file.read(from: start, count: end - start)
                guard !block.isEmpty, mayLook(at: block.count) else { return }
                end = start
                rest = block + rest
                // Empty ones included: a block may begin with the end of a line.
                var lines = rest.split(separator: LogFileReader.lineFeed, omittingEmptySubsequences: false)
                // The first may be the end of a line whose beginning is still to come.
                rest = start > 0 ? Array(lines.removeFirst()) : []
                for line in lines.reversed() where !isOver { take(line) }
            }
        }

        private mutating func mayLook(at count: Int) -> Bool {
            looked += count
            if looked > LogFileReader.mostBytes { isOver = true }
            return !isOver
        }
    }

    private static let lineFeed = UInt8(ascii: "\n")
    private static let beginning = Array(#"{"timestamp":""#.utf8)

    /// The time of a line, with which it begins; nil for one that is torn.
    private static func time(of line: ArraySlice<UInt8>) -> String? {
        guard line.starts(with: beginning) else { return nil }
        let time = line.dropFirst(beginning.count).prefix(24)
        return time.count == 24 ? String(decoding: time, as: UTF8.self) : nil
    }
}
