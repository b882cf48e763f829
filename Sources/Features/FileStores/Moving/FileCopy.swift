import Crypto
public import FileStorage

/// `roost files copy`: copies files to another store, byte for byte as they are stored, several at a time.
///
/// Skips files that the target already has with the same size and the same or a later time in seconds, so that an
/// interrupted copy can continue. With verification it compares contents instead. Also skips files that clients of a
/// running server have deleted, or replaced in the target, even during the copy.
public struct FileCopy: Sendable {
    /// The result, or the progress so far.
    public struct Report: Sendable, Equatable {
        public var copied = 0
        public var bytes: Int64 = 0
        /// The number of files that didn't have to be copied.
        public var skipped = 0
        /// The names of files that couldn't be copied, with the reasons.
        public var failed: [String] = []

        public init() {}
    }

    private let source: any FileStorage
    private let target: any FileStorage
    private let jobs: Int
    private let isDryRun: Bool
    private let verifies: Bool
    private let progress: @Sendable (Report) -> Void

    /// - Parameters:
    ///   - jobs: The number of files copied at a time.
    ///   - verifies: Whether to compare contents. Different files that are newer in the target then count as failed.
    ///   - progress: Receives the report after each file.
    public init(
        from source: any FileStorage, to target: any FileStorage, jobs: Int, isDryRun: Bool, verifies: Bool,
        progress: @escaping @Sendable (Report) -> Void
    ) {
        self.source = source
        self.target = target
        self.jobs = jobs
        self.isDryRun = isDryRun
        self.verifies = verifies
        self.progress = progress
    }

    enum Outcome: Sendable {
        case copied(Int64)
        case skipped
        case failed(String)
    }

    /// Copies the files. A failed file doesn't stop the others.
    ///
    /// - Parameter prefix: The prefix of the names of files to copy.
    /// - Throws: The error of listing the source, or `CancellationError`.
    public func run(prefix: String = "") async throws -> Report {
        try await Self.visit(source, prefix: prefix, jobs: jobs, progress, copy)
    }

    /// Runs `work` for each file of a store, several at a time.
    private static func visit(
        _ source: any FileStorage, prefix: String, jobs: Int, _ progress: (Report) -> Void,
        _ work: @escaping @Sendable (ListedFile) async throws -> Outcome
    ) async throws -> Report {
        var report = Report()
        func count(_ outcome: Outcome) {
            switch outcome {
            case .copied(let size):
                report.copied += 1
                report.bytes += size
            case .skipped: report.skipped += 1
            case .failed(let reason): report.failed.append(reason)
            }
            progress(report)
        }
        try await withThrowingTaskGroup(of: Outcome.self) { group in
            var running = 0
            try await source.visit(prefix: prefix) { file in
                try Task.checkCancellation()
                if running == jobs {
                    if let outcome = try await group.next() { count(outcome) }
                    running -= 1
                }
                group.addTask {
                    do {
                        return try await Self.patiently { try await work(file) }
                    } catch let error as CancellationError {
                        throw error
                    } catch {
                        return .failed("\(file.name): \(error)")
                    }
                }
                running += 1
            }
            while let outcome = try await group.next() { count(outcome) }
        }
        return report
    }

    /// Runs `work`, and retries once if a store is briefly unavailable.
    private static func patiently(_ work: () async throws -> Outcome) async throws -> Outcome {
        do {
            return try await work()
        } catch FileStorageError.unavailable(let seconds) {
            try await Task.sleep(for: .seconds(min(seconds, 5)))
            return try await work()
        }
    }

    private func copy(_ listed: ListedFile) async throws -> Outcome {
        let known = try await target.open(name: listed.name, for: FileWish(isHeadOnly: true))
        if let known {
            // Without `verifies`, a newer file in the source is copied even if the sizes are equal.
            let isOlder = known.modified.seconds < listed.modified.seconds
            if verifies || !isOlder, try await isEqual(known, listed) { return .skipped }
            if known.modified.isLater(than: listed.modified) {
                return verifies ? .failed("\(listed.name): the other store has a newer, different file") : .skipped
            }
        }
        if isDryRun { return .copied(listed.size) }
        // The file was deleted after it was listed.
        guard let file = try await source.open(name: listed.name) else { return .skipped }
        let details = if let known = file.details { known } else { try await source.details(name: listed.name) }
        let contents = CheckedContents(contents: FilePieces(file: file)) { [source, target] in
            let now = try await target.open(name: listed.name, for: FileWish(isHeadOnly: true))
            guard now?.entityTag == known?.entityTag, try await source.exists(name: listed.name) else {
                throw Overtaken()
            }
        }
        do {
            try await target.write(name: listed.name, details: details, contents: contents)
        } catch is Overtaken {
            return .skipped
        }
        if verifies, try await !isSame(listed.name) { return .failed("\(listed.name): the copy differs") }
        return .copied(file.size)
    }

    /// The error for a file that a client deleted, or replaced in the target, during the copy.
    private struct Overtaken: Error {}

    private func isEqual(_ known: any StoredFile, _ listed: ListedFile) async throws -> Bool {
        guard known.size == listed.size, verifies else { return known.size == listed.size }
        return try await isSame(listed.name)
    }

    private func isSame(_ name: String) async throws -> Bool {
        async let first = Self.sum(name, in: source)
        async let second = Self.sum(name, in: target)
        return try await first == second
    }

    private static func sum(_ name: String, in storage: any FileStorage) async throws -> [UInt8]? {
        guard let file = try await storage.open(name: name) else { return nil }
        var hash = SHA256()
        try await file.give(0..<file.size) { piece in
            piece.readableBytesView.withUnsafeBytes { hash.update(bufferPointer: $0) }
        }
        return Array(hash.finalize())
    }
}

extension FileCopy {
    /// `roost files rotate`: re-encrypts each file of a store with the current key and format. A failed file doesn't stop
    /// the others.
    ///
    /// Skips files that already have both, so that an interrupted run can continue. Servers that know both keys can read
    /// every file meanwhile.
    ///
    /// - Parameters:
    ///   - stored: The store with its encrypted files.
    ///   - files: The same store, with its files decrypted and encrypted on the fly.
    ///   - jobs: The number of files encrypted at a time.
    ///   - progress: Receives the report after each file.
    /// - Returns: The report, in which re-encrypted files count as copied.
    /// - Throws: The error of listing the store, or `CancellationError`.
    public static func rotate(
        _ stored: any FileStorage, _ files: EncryptedStorage, jobs: Int, isDryRun: Bool, _ progress: (Report) -> Void
    ) async throws -> Report {
        try await visit(stored, prefix: "", jobs: jobs, progress) { listed in
            try await files.encryptAnew(name: listed.name, isDryRun: isDryRun).map { .copied($0) } ?? .skipped
        }
    }
}

extension FileTime {
    fileprivate func isLater(than other: FileTime) -> Bool {
        (seconds, nanoseconds) > (other.seconds, other.nanoseconds)
    }
}
