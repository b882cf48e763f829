public import FileStorage

/// `roost files rotate`: re-encrypts each file of a store with the current key and format.
///
/// Skips files that already have both, so that an interrupted run can continue. Servers that know both keys can read
/// every file meanwhile.
public struct FileRotation: Sendable {
    private let files: EncryptedStorage
    private let stored: any FileStorage
    private let jobs: Int
    private let isDryRun: Bool

    /// - Parameters:
    ///   - stored: The store with its encrypted files.
    ///   - files: The same store, with its files decrypted and encrypted on the fly.
    ///   - jobs: The number of files encrypted at a time.
    public init(_ stored: any FileStorage, _ files: EncryptedStorage, jobs: Int, isDryRun: Bool) {
        self.stored = stored
        self.files = files
        self.jobs = jobs
        self.isDryRun = isDryRun
    }

    /// Re-encrypts the files. A failed file doesn't stop the others.
    ///
    /// - Parameter progress: Receives the report after each file.
    /// - Returns: The report, in which re-encrypted files count as copied.
    /// - Throws: The error of listing the store, or `CancellationError`.
    public func run(_ progress: (FileCopy.Report) -> Void) async throws -> FileCopy.Report {
        try await FileCopy.visit(stored, prefix: "", jobs: jobs, progress) { [files, isDryRun] listed in
            try await files.encryptAnew(name: listed.name, isDryRun: isDryRun).map { .copied($0) } ?? .skipped
        }
    }
}
