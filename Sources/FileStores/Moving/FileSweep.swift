import Encoding
public import FileStorage
import Foundation
public import ParseStorage
import Synchronization

/// `roost files sweep`: files that no object mentions. An upload that no save followed leaves one, and so does an object
/// that is deleted.
public struct FileSweep: Sendable {
    /// What was found.
    public struct Report: Sendable {
        /// All files of the store.
        public var files = 0
        /// The files that no object mentions.
        public var orphans: [ListedFile] = []
        /// How many of them were removed.
        public var deleted = 0
        /// The names of uploads that never ended; with `deletes` they were given up.
        public var unfinished: [String] = []
    }

    /// No object mentions any file of the store, which is no reason to remove them all.
    public struct NothingMentioned: Error, CustomStringConvertible {
        /// The message for the operator.
        public let description =
            "no object of the database mentions any file of the store: is this the right database? Nothing was removed"
    }

    private let storage: any FileStorage
    private let references: FileReferences
    /// Files that were stored later are left alone: the save that mentions them may still come.
    private let limit: Int

    /// Prepares a look.
    ///
    /// - Parameter seconds: For how long a file must have been stored.
    public init(_ storage: any FileStorage, _ references: FileReferences, olderThan seconds: Int) {
        self.storage = storage
        self.references = references
        limit = Int(Date().timeIntervalSince1970) - seconds
    }

    /// Looks, and removes what it finds where that is wanted.
    ///
    /// The store is listed first, so that what is saved meanwhile counts.
    ///
    /// - Parameter found: Gets each file that no object mentions.
    /// - Throws: What keeps the store from being listed, or a class from being read; ``NothingMentioned``: then nothing
    ///   was removed.
    public func run(deletes: Bool, _ found: (ListedFile) -> Void) async throws -> Report {
        var report = Report()
        var candidates: [ListedFile] = []
        var names: Set<[UInt8]> = []
        try await storage.visit(prefix: "") { file in
            report.files += 1
            names.insert(Array(file.name.utf8))
            if file.modified.seconds <= limit { candidates.append(file) }
        }
        let mentioned = Mentioned(among: names)
        if !candidates.isEmpty { try await references.visit { mentioned.add($0) } }
        report.orphans = candidates.filter { !mentioned.contains($0.name) }
        if deletes, !report.orphans.isEmpty {
            if mentioned.isEmpty { throw NothingMentioned() }
            // Classes are read one after the other: a mention may have gone from one that came later into one before.
            try await references.visit { mentioned.add($0) }
            report.orphans.removeAll { mentioned.contains($0.name) }
        }
        report.unfinished = try await storage.unfinishedUploads(before: limit, givesUp: deletes)
        let orphans = report.orphans
        report.orphans = []
        for file in orphans {
            try Task.checkCancellation()
            if deletes, try await !isAsOld(file) { continue }
            report.orphans.append(file)
            found(file)
            guard deletes else { continue }
            do {
                try await storage.delete(name: file.name)
                report.deleted += 1
            } catch FileStorageError.notFound {}
        }
        return report
    }

    /// Whether a file is still the one that was listed, and not stored anew. It is looked at right before it is removed,
    /// since to remove thousands takes a while.
    private func isAsOld(_ file: ListedFile) async throws -> Bool {
        guard let now = try await storage.open(name: file.name, for: FileWish(isHeadOnly: true)) else { return false }
        return now.modified.seconds <= limit
    }
}

extension FileSweep {
    /// The names that objects mention, as far as there are files of them.
    package final class Mentioned: Sendable {
        private let files: Set<[UInt8]>
        private let names = Mutex<Set<[UInt8]>>([])

        init(among files: Set<[UInt8]>) { self.files = files }

        var isEmpty: Bool { names.withLock { $0.isEmpty } }

        func add(_ mention: FileReferences.Mention) {
            switch mention {
            case .name(let name): insert(name)
            case .text(let text): Self.visitNames(in: text, insert)
            }
        }

        func contains(_ name: String) -> Bool { names.withLock { $0.contains(Array(name.utf8)) } }

        private func insert(_ name: String) {
            let name = Array(name.utf8)
            guard files.contains(name) else { return }
            _ = names.withLock { $0.insert(name) }
        }

        private static let slash = UInt8(ascii: "/")
        /// The longest name, encoded.
        private static let mostBytes = 3072
        /// How many folders of a bucket, or of a name, are tried.
        private static let mostFolders = 8
        private static let mostEnds = 16

        /// The names that addresses in a text may mean: what stands behind `/files/<application>/`, whatever the
        /// application, since an address of an earlier id counts as well; and, since buckets have addresses of their own,
        /// each end of the path of any other. One name too many keeps a file, one too few removes it.
        ///
        /// Each name is used as it is found: a text may mean many times more than it has bytes.
        package static func visitNames(in text: String, _ use: (String) -> Void) {
            for address in Array(text.utf8).split(whereSeparator: endsAddress) {
                visitTails(of: address) { visitNames(at: $0.prefix(mostBytes), use) }
            }
        }

        private static func endsAddress(_ byte: UInt8) -> Bool {
            byte <= UInt8(ascii: " ") || byte == 0x7F || "\"<>?#\\`".utf8.contains(byte)
        }

        /// What stands behind each position where a name may begin.
        private static func visitTails(of address: ArraySlice<UInt8>, _ use: (ArraySlice<UInt8>) -> Void) {
            var rest = address
            while let path = rest.firstRange(of: "/files/".utf8) {
                rest = rest[path.upperBound...]
                if let end = rest.prefix(mostBytes).firstIndex(of: slash) { use(rest[(end + 1)...]) }
            }
            rest = address
            while let scheme = rest.firstRange(of: "://".utf8) {
                rest = rest[scheme.upperBound...]
                var path = rest.prefix(mostBytes)
                for _ in 0..<mostFolders {
                    guard let end = path.firstIndex(of: slash) else { break }
                    path = path[(end + 1)...]
                    use(path)
                }
            }
        }

        /// The names that may begin here. In running text punctuation may follow, which a name may have as well.
        private static func visitNames(at tail: ArraySlice<UInt8>, _ use: (String) -> Void) {
            let ends = tail.indices.lazy.filter { tail[$0] >= 0x80 || ",;:!'()*[]{}|&$".utf8.contains(tail[$0]) }
            for end in Array(ends.prefix(mostEnds)) + [tail.endIndex] {
                var name = tail[..<end]
                decode(name, use)
                guard name.last == UInt8(ascii: ".") else { continue }
                while name.last == UInt8(ascii: ".") { name.removeLast() }
                decode(name, use)
            }
        }

        private static func decode(_ name: ArraySlice<UInt8>, _ use: (String) -> Void) {
            if let name = PercentEncoding.decode(String(decoding: name, as: UTF8.self)) { use(name) }
        }
    }
}
