import Foundation
import ParseModel

/// Log lines in files, by parse-server's names: `parse-server.info.<day>` has all of them, `parse-server.err.<day>` the
/// errors, each an object of JSON. The thread of the log writes them.
package struct LogFiles {
    /// Which files are kept.
    package enum Kept: Sendable, Equatable {
        /// Those of so many days.
        case days(Int)
        /// So many of each kind.
        case files(Int)
    }

    /// Where they are.
    package struct Settings: Sendable {
        package var folder: String
        package var kept: Kept
        /// From how many bytes on a day gets another file.
        package var mostBytes = 100 * 1024 * 1024

        /// Files in a folder.
        package init(folder: String, kept: Kept) {
            self.folder = folder
            self.kept = kept
        }
    }

    enum Kind: String, CaseIterable {
        case all = "parse-server.info."
        case errors = "parse-server.err."
    }

    private struct OpenFile {
        let handle: FileHandle
        let day: String
        let number: Int
        var size: Int
    }

    private let settings: Settings
    private var files: [Kind: OpenFile] = [:]
    /// Until when nothing is written, since the folder took nothing.
    private var pauseEnd: ContinuousClock.Instant?

    /// How long nothing is written after a failure.
    private static let pause = Duration.seconds(5)

    /// Opens nothing yet.
    package init(_ settings: Settings) { self.settings = settings }

    /// Writes lines.
    ///
    /// - Returns: How many could not be written: a full disk stops these lines, and nothing else.
    package mutating func write(_ lines: [LogLine]) -> Int {
        if let pauseEnd, ContinuousClock.now < pauseEnd { return lines.count }
        var rest = lines[...]
        do {
            while let first = rest.first {
                let day = String(first.moment.iso.prefix(10))
                let ofDay = rest.prefix { $0.moment.iso.hasPrefix(day) }
                try write(ofDay, day, to: .all)
                try write(ofDay.filter { $0.level >= .error }[...], day, to: .errors)
                rest = rest[ofDay.endIndex...]
            }
            pauseEnd = nil
            return 0
        } catch {
            // What was written in part ends with the next line.
            files = [:]
            pauseEnd = .now + Self.pause
            return rest.count
        }
    }

    private mutating func write(_ lines: ArraySlice<LogLine>, _ day: String, to kind: Kind) throws {
        guard !lines.isEmpty else { return }
        var file = try open(kind, day)
        var bytes: [UInt8] = pauseEnd == nil ? [] : [UInt8(ascii: "\n")]
        for line in lines { line.write(as: .json, to: &bytes) }
        try file.handle.write(contentsOf: Data(bytes))
        file.size += bytes.count
        files[kind] = file
    }

    private mutating func open(_ kind: Kind, _ day: String) throws -> OpenFile {
        if let file = files[kind], file.day == day, file.size < settings.mostBytes { return file }
        try FileManager.default.createDirectory(atPath: settings.folder, withIntermediateDirectories: true)
        var number = files[kind].map { $0.day == day ? $0.number + 1 : 0 } ?? 0
        files[kind] = nil
        while true {
            let path = "\(settings.folder)/\(kind.rawValue)\(day)" + (number > 0 ? ".\(number)" : "")
            let descriptor = Foundation.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            let size = Int(try handle.seekToEnd())
            if size < settings.mostBytes {
                removeOld(kind, today: day)
                return OpenFile(handle: handle, day: day, number: number, size: size)
            }
            number += 1
        }
    }

    /// Removes the files that are not kept any longer.
    private func removeOld(_ kind: Kind, today: String) {
        let names = LogFileReader(folder: settings.folder).names(kind)
        let old: [LogFileReader.Name] =
            switch settings.kept {
            case .files(let most): Array(names.dropLast(most))
            case .days(let days): names.filter { $0.isOlder(than: days, on: today) }
            }
        for name in old { try? FileManager.default.removeItem(atPath: "\(settings.folder)/\(name.text)") }
    }
}
