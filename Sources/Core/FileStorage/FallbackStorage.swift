public import NIOCore

/// A storage that reads files from older storages if the first lacks them. Files can be moved while a server runs.
public struct FallbackStorage: FileStorage {
    private let first: any FileStorage
    private let others: [any FileStorage]

    /// Creates a storage that writes to `first` and falls back to `others` for reading.
    public init(_ first: any FileStorage, others: [any FileStorage]) {
        self.first = first
        self.others = others
    }

    private var all: [any FileStorage] { [first] + others }

    public var memoryOfWrites: Int { first.memoryOfWrites }

    /// Prepares all storages.
    public func prepare() async throws {
        for storage in all { try await storage.prepare() }
    }

    /// Tends all storages concurrently.
    public func tend() async {
        await withTaskGroup(of: Void.self) { group in
            for storage in all { group.addTask { await storage.tend() } }
        }
    }

    public func shutdown() async {
        for storage in all { await storage.shutdown() }
    }

    public func checkAvailable() throws { try first.checkAvailable() }

    /// Whether any of the storages is unreachable.
    public var isOutOfReach: Bool { all.contains { $0.isOutOfReach } }

    /// Stores a file in the first storage.
    public func write<Contents: AsyncSequence>(
        name: String, details: FileDetails, contents: Contents
    ) async throws where Contents.Element == ByteBuffer {
        try await first.write(name: name, details: details, contents: contents)
    }

    /// Opens a file from the first storage that has it. Errors aren't treated as absence, because an outage must not
    /// look like a loss.
    public func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
        for storage in all {
            if let file = try await storage.open(name: name, for: wish) { return file }
        }
        return nil
    }

    /// Returns a file's details from the first storage that has the file, or empty details if none has it.
    public func details(name: String) async throws -> FileDetails {
        for storage in all {
            if try await storage.exists(name: name) { return try await storage.details(name: name) }
        }
        return FileDetails()
    }

    /// Deletes a file from all storages, from the first storage last. Otherwise readers could see an older version, and
    /// a concurrent move could restore the file.
    public func delete(name: String) async throws {
        var isFound = false
        for storage in all.reversed() {
            do {
                try await storage.delete(name: name)
                isFound = true
            } catch FileStorageError.notFound {}
        }
        guard isFound else { throw FileStorageError.notFound }
    }

    /// Visits the files of all storages, each name once.
    public func visit(prefix: String, _ use: (ListedFile) async throws -> Void) async throws {
        for (index, storage) in all.enumerated() {
            try await storage.visit(prefix: prefix) { file in
                for newer in all[..<index] {
                    if try await newer.exists(name: file.name) { return }
                }
                try await use(file)
            }
        }
    }
}
