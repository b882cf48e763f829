public import FileStorage

/// `roost files rotate`: encrypts each file of a store anew, with the key and in the form of now.
///
/// A file that is so already is left as it is, so that a run that was stopped goes on. Servers that know both keys read
/// each file all the time.
public struct FileRotation: Sendable {
    private let files: EncryptedStorage
    private let stored: any FileStorage
    private let jobs: Int
    private let isDryRun: Bool

    /// Prepares a rotation.
    ///
    /// - Parameters:
    ///   - stored: The store.
    ///   - files: The same in clear.
    ///   - jobs: How many files are encrypted at a time.
    public init(_ stored: any FileStorage, _ files: EncryptedStorage, jobs: Int, isDryRun: Bool) {
        self.stored = stored
        self.files = files
        self.jobs = jobs
        self.isDryRun = isDryRun
    }

    /// Encrypts. A file that cannot be read keeps no other from it.
    ///
    /// - Parameter progress: Gets what was done so far after each file.
    /// - Returns: What was done; a file that was encrypted anew counts as copied.
    /// - Throws: What keeps the store from being listed; `CancellationError`.
    public func run(_ progress: (FileCopy.Report) -> Void) async throws -> FileCopy.Report {
        try await FileCopy.visit(stored, prefix: "", jobs: jobs, progress) { [files, isDryRun] listed in
            try await files.encryptAnew(name: listed.name, isDryRun: isDryRun).map { .copied($0) } ?? .skipped
        }
    }
}
