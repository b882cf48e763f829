import Foundation
import JSON
import Logging
import Logs
import ParseModel
import Testing

@Suite("Log lines in files")
struct LogFileTests {
    /// A folder for the time of a closure.
    private static func withFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-logs-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    private static func line(_ time: String, _ text: String, _ level: Logger.Level = .info) throws -> LogLine {
        LogLine(
            moment: try #require(ParseDate(iso: time)), level: level, label: "roost",
            message: "\(text)", metadata: ["id": "\(text)", "ms": "1.5"])
    }

    private static func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    private static func query(
        _ from: String = "2026-01-01T00:00:00.000Z", _ until: String = "2027-01-01T00:00:00.000Z", size: Int = 10,
        ascending: Bool = false
    ) -> LogFileReader.Query {
        var query = LogFileReader.Query()
        (query.from, query.until, query.size, query.isAscending) = (from, until, size, ascending)
        return query
    }

    private static func texts(_ lines: [JSONObject]) -> [String] { lines.compactMap { $0["message"]?.stringValue } }

    @Test("A day has a file of its own, errors another, which only their user reads")
    func days() throws {
        try Self.withFolder { folder in
            var files = LogFiles(LogFiles.Settings(folder: folder, kept: .days(14)))
            let lost = files.write([
                try Self.line("2026-03-01T23:59:59.999Z", "a"), try Self.line("2026-03-02T00:00:00.000Z", "b", .error),
                try Self.line("2026-03-02T00:00:00.001Z", "c", .warning),
            ])
            #expect(lost == 0)
            #expect(
                try Self.names(folder) == [
                    "parse-server.err.2026-03-02", "parse-server.info.2026-03-01", "parse-server.info.2026-03-02",
                ])
            let attributes = try FileManager.default.attributesOfItem(
                atPath: folder + "/parse-server.info.2026-03-01")
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            let reader = LogFileReader(folder: folder)
            #expect(Self.texts(reader.lines(Self.query())) == ["c", "b", "a"])
            #expect(Self.texts(reader.lines(Self.query(ascending: true))) == ["a", "b", "c"])
            #expect(Self.texts(reader.lines(Self.query(size: 2))) == ["c", "b"])
            var errors = Self.query()
            errors.onlyErrors = true
            let found = reader.lines(errors)
            #expect(Self.texts(found) == ["b"])
            #expect(found.first?["ms"] == 1.5)
            #expect(found.first?["level"] == "error")
        }
    }

    @Test("A file that is full is followed by another of the day, and old ones go")
    func rotation() throws {
        try Self.withFolder { folder in
            var settings = LogFiles.Settings(folder: folder, kept: .files(2))
            settings.mostBytes = 300
            var files = LogFiles(settings)
            for number in 0..<12 {
                _ = files.write([try Self.line("2026-03-01T00:00:00.0\(10 + number)Z", "\(number)")])
            }
            let names = try Self.names(folder)
            #expect(names.count == 2)
            #expect(names.allSatisfy { $0.hasPrefix("parse-server.info.2026-03-01.") })
            let lines = LogFileReader(folder: folder).lines(Self.query(size: 100))
            #expect(Self.texts(lines).prefix(2) == ["11", "10"])
            settings.kept = .days(2)
            settings.mostBytes = 1_000_000
            var later = LogFiles(settings)
            _ = later.write([try Self.line("2026-03-02T00:00:00.000Z", "x")])
            #expect(try Self.names(folder).count == 3)
            _ = later.write([try Self.line("2026-03-03T00:00:00.000Z", "y")])
            #expect(
                try Self.names(folder) == ["parse-server.info.2026-03-02", "parse-server.info.2026-03-03"])
        }
    }

    @Test("What cannot be written is counted, and the lines after it are whole")
    func failure() throws {
        try Self.withFolder { folder in
            try Data().write(to: URL(fileURLWithPath: folder))
            var files = LogFiles(LogFiles.Settings(folder: folder, kept: .days(14)))
            let line = try Self.line("2026-03-01T00:00:00.000Z", "a")
            #expect(files.write([line, line]) == 2)
        }
    }

    @Test("No line is lost where a block of a file begins with the end of a line")
    func borders() throws {
        try Self.withFolder { folder in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            var lines: [UInt8] = []
            for number in 0..<400 {
                let time = ParseDate(milliseconds: 1_772_323_200_000 + Int64(number)).iso
                let text = "\(1000 + number)" + String(repeating: "x", count: 300)
                try Self.line(time, text).write(as: .json, to: &lines)
            }
            // All lines have one length, and blocks of 64 KiB are counted from the end.
            let length = lines.count / 400
            for place in 0...2 {
                let padding = (65_536 + length - place) % length
                let bytes = lines + [UInt8](repeating: UInt8(ascii: "\n"), count: padding)
                try Data(bytes).write(to: URL(fileURLWithPath: folder + "/parse-server.info.2026-03-01"))
                let found = LogFileReader(folder: folder).lines(Self.query(size: 1000))
                #expect(found.count == 400, "\(place)")
            }
        }
    }

    @Test("A pipe or a folder of a file's name keeps no reader waiting")
    func pipes() throws {
        try Self.withFolder { folder in
            var files = LogFiles(LogFiles.Settings(folder: folder, kept: .days(14)))
            _ = files.write([try Self.line("2026-03-02T00:00:00.000Z", "a")])
            #expect(mkfifo(folder + "/parse-server.info.2026-03-01", 0o600) == 0)
            try FileManager.default.createDirectory(
                atPath: folder + "/parse-server.info.2026-02-28", withIntermediateDirectories: false)
            #expect(Self.texts(LogFileReader(folder: folder).lines(Self.query())) == ["a"])
        }
    }

    @Test("No field takes the place of what each line has")
    func ownNames() throws {
        var bytes: [UInt8] = []
        let time = "2026-03-01T00:00:00.000Z"
        LogLine(
            moment: try #require(ParseDate(iso: time)), level: .info, label: "roost", message: "words",
            metadata: ["message": "other words", "timestamp": "never"]
        ).write(as: .json, to: &bytes)
        let line = try #require(try JSONValue(parsing: Array(bytes.dropLast())).objectValue)
        #expect(line["message"] == "words" && line["message_"] == "other words")
        #expect(line["timestamp"] == .string(time) && line["timestamp_"] == "never")
    }

    @Test("Control characters of one and of two bytes steer no terminal and begin no line")
    func controlCharacters() throws {
        var bytes: [UInt8] = []
        try Self.line("2026-03-01T00:00:00.000Z", "a\n\u{1B}\u{9B}\u{85}é\u{A9}").write(as: .text, to: &bytes)
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.hasSuffix("a  \u{A0}\u{A0}é\u{A9}\n"))
    }

    @Test("A pager loses no line and gets none twice, however many there are of one millisecond")
    func pages() throws {
        try Self.withFolder { folder in
            var files = LogFiles(LogFiles.Settings(folder: folder, kept: .days(14)))
            let start: Int64 = 1_772_323_200_000
            var written: [String] = []
            for block in 0..<20 {
                let lines = try (0..<1000).map { number in
                    let index = block * 1000 + number
                    // Seven lines of each millisecond, and some long ones.
                    let time = ParseDate(milliseconds: start + Int64(index / 7) * 3).iso
                    let text = "\(index)" + (index % 500 == 0 ? String(repeating: "x", count: 150_000) : "")
                    written.append(text)
                    return try Self.line(time, text)
                }
                _ = files.write(lines)
            }
            let reader = LogFileReader(folder: folder)
            var until = "2027-01-01T00:00:00.000Z"
            var read: [String] = []
            for _ in 0..<1000 {
                let page = reader.lines(Self.query("2026-01-01T00:00:00.000Z", until, size: 100))
                guard let last = page.last?["timestamp"]?.stringValue.flatMap(ParseDate.init(iso:)) else { break }
                read += Self.texts(page)
                until = ParseDate(milliseconds: last.milliseconds - 1).iso
            }
            #expect(read.count == written.count)
            #expect(read == written.reversed())
            let middle = ParseDate(milliseconds: start + Int64(10_003 / 7) * 3).iso
            let forward = reader.lines(Self.query(middle, until: "2027-01-01T00:00:00.000Z", ascending: true))
            #expect(forward.first?["timestamp"] == .string(middle))
        }
    }
}

extension LogFileTests {
    private static func query(_ from: String, until: String, ascending: Bool) -> LogFileReader.Query {
        var query = LogFileReader.Query()
        (query.from, query.until, query.isAscending) = (from, until, ascending)
        return query
    }
}
