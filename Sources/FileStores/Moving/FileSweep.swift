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
    /// - Throws: What keeps the store from being listed, or a class from being read: then nothing was removed.
    public func run(deletes: Bool, _ found: (ListedFile) -> Void) async throws -> Report {
        var report = Report()
        var candidates: [ListedFile] = []
        try await storage.visit(prefix: "") { file in
            report.files += 1
            if file.modified.seconds <= limit { candidates.append(file) }
        }
        report.unfinished = try await storage.unfinishedUploads(before: limit, givesUp: deletes)
        guard !candidates.isEmpty else { return report }
        let mentioned = Mentioned(location: storage.location)
        try await references.visit { mentioned.add($0) }
        report.orphans = candidates.filter { !mentioned.contains($0.name) }
        for file in report.orphans {
            found(file)
            guard deletes else { continue }
            try Task.checkCancellation()
            do {
                try await storage.delete(name: file.name)
                report.deleted += 1
            } catch FileStorageError.notFound {}
        }
        return report
    }

    /// The names that objects mention.
    final class Mentioned: Sendable {
        private let names = Mutex<Set<[UInt8]>>([])
        /// What stands before names in addresses at the store, besides `/files/<application>/`.
        private let base: String?

        /// - Parameter location: Gives addresses at the store.
        init(location: ((String) -> String?)? = nil) {
            base = location?("x").flatMap { $0.prefix { $0 != "?" }.dropLast() }.map(String.init)
        }

        func add(_ mention: FileReferences.Mention) {
            switch mention {
            case .name(let name): insert(name)
            case .text(let text): for name in Self.names(in: text, base) { insert(name) }
            }
        }

        func contains(_ name: String) -> Bool { names.withLock { $0.contains(Array(name.utf8)) } }

        private func insert(_ name: String) { _ = names.withLock { $0.insert(Array(name.utf8)) } }

        /// The names of files behind `/files/<application>/` in a text, whatever the application: an address of an
        /// earlier id counts as well.
        ///
        /// - Parameter base: What stands before names besides.
        static func names(in text: String, _ base: String? = nil) -> [String] {
            var names: [String] = []
            func add(_ rest: Substring) {
                let tail = rest.prefix { !"\"'<>?#".contains($0) && !$0.isWhitespace }
                // In running text punctuation may follow.
                for name in [tail, tail.prefix(while: { !",;)]}".contains($0) })] {
                    if let decoded = PercentEncoding.decode(name) { names.append(decoded) }
                }
            }
            var rest = text[...]
            while let start = rest.utf8.firstRange(of: "/files/".utf8) {
                rest = rest[start.upperBound...]
                guard let slash = rest.utf8.firstIndex(of: UInt8(ascii: "/")) else { break }
                add(rest[rest.index(after: slash)...])
            }
            rest = text[...]
            while let base, let start = rest.utf8.firstRange(of: base.utf8) {
                rest = rest[start.upperBound...]
                add(rest)
            }
            return names
        }
    }
}
