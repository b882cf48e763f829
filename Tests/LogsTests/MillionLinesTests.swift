import Foundation
import JSON
import Logs
import ParseModel
import Testing

/// Two files of one day with a million lines, ten of each millisecond but for five thousand of one, each thousandth an error.
@Suite("A million log lines")
struct MillionLinesTests {
    private static let count = 1_000_000
    private static let crowd = 800_000..<805_000
    private static let start: Int64 = 1_772_323_200_000

    /// The time of a line, by its number.
    private static func moment(_ number: Int) -> ParseDate {
        let number = crowd.contains(number) ? crowd.lowerBound : number
        return ParseDate(milliseconds: start + Int64(number / 10) * 500)
    }

    private static func withLines(_ body: (LogFileReader) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-lines-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (file, numbers) in [("", 0..<600_000), (".1", 600_000..<count)] {
            var (lines, errors): ([UInt8], [UInt8]) = ([], [])
            var (known, time) = (-1, "")
            for number in numbers {
                if number / 10 != known { (known, time) = (number / 10, moment(number).iso) }
                let level = number % 1000 == 0 ? "error" : "info"
                let line = "{\"timestamp\":\"\(time)\",\"level\":\"\(level)\",\"message\":\"\(number)\"}\n"
                lines += line.utf8
                if level == "error" { errors += line.utf8 }
            }
            for (kind, bytes) in [("info", lines), ("err", errors)] {
                let path = "\(folder)/parse-server.\(kind).2026-03-01\(file)"
                try Data(bytes).write(to: URL(fileURLWithPath: path))
            }
        }
        try body(LogFileReader(folder: folder))
    }

    /// The numbers of a page that ends with a line.
    private static func page(
        _ reader: LogFileReader, until number: Int, onlyErrors: Bool = false
    ) throws -> [Int] {
        var query = LogFileReader.Query()
        (query.from, query.until, query.size) = ("2026-01-01T00:00:00.000Z", moment(number).iso, 100)
        query.onlyErrors = onlyErrors
        return reader.lines(query).compactMap { $0["message"]?.stringValue.flatMap { Int($0) } }
    }

    /// Pages as the Dashboard does: on before the time of the last line.
    private static func numbers(
        _ reader: LogFileReader, until number: Int, pages: Int, onlyErrors: Bool = false
    ) throws -> [Int] {
        var (numbers, next): ([Int], Int?) = ([], number)
        for _ in 0..<pages {
            guard let until = next else { break }
            let page = try page(reader, until: until, onlyErrors: onlyErrors)
            numbers += page
            let last = page.last.map { crowd.contains($0) ? crowd.lowerBound : $0 / 10 * 10 } ?? 0
            next = last > 0 ? last - 1 : nil
        }
        return numbers
    }

    @Test(
        "A pager misses none and gets none twice: at the end, over the border of two files, through a crowded millisecond, at the beginning, and of errors alone"
    )
    func pages() throws {
        try Self.withLines { reader in
            for (until, pages, expected) in [
                (Self.count - 1, 20, 998_000..<Self.count), (601_009, 20, 599_010..<601_010),
                (805_499, 10, 799_600..<805_500), (1509, 100, 0..<1510),
            ] {
                let found = try Self.numbers(reader, until: until, pages: pages)
                #expect(found == expected.reversed(), "\(until): \(found.count)")
            }
            let errors = try Self.numbers(reader, until: Self.count - 1, pages: 100, onlyErrors: true)
            #expect(errors == (0..<1000).reversed().map { $0 * 1000 })
        }
    }

    @Test("A page of a million lines takes hardly more time than one of few, wherever it is")
    func time() throws {
        try Self.withLines { reader in
            func time(_ number: Int) throws -> Int {
                func now() -> Int {
                    var time = timespec()
                    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
                    return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
                }
                let start = now()
                let count = try Self.page(reader, until: number).count
                #expect(count == 100)
                return now() - start
            }
            _ = try time(1000)
            let few = try time(3000)
            for number in [100_009, 400_009, 599_999, 900_009, Self.count - 1] {
                let many = try time(number)
                print("a page before line \(number): \(many) us, of few: \(few) us")
                #expect(many < 10 * few)
            }
        }
    }
}
