public import NIOCore

/// A storage behind which older ones stand: what it does not have is read from the next. So files can be moved while a
/// server runs.
public struct FallbackStorage: FileStorage {
    private let first: any FileStorage
    private let others: [any FileStorage]

    /// Writes to the first storage, and reads from the others what it does not have.
    public init(_ first: any FileStorage, others: [any FileStorage]) {
        self.first = first
        self.others = others
    }

    private var all: [any FileStorage] { [first] + others }

    public var holdsWholeFiles: Bool { first.holdsWholeFiles }
    public var memoryOfWrites: Int { first.memoryOfWrites }

    /// Makes sure that all can be used.
    public func prepare() async throws {
        for storage in all { try await storage.prepare() }
    }

    /// Looks after all of them.
    public func tend() async {
        await withTaskGroup(of: Void.self) { group in
            for storage in all { group.addTask { await storage.tend() } }
        }
    }

    /// Closes all of them.
    public func shutdown() async {
        for storage in all { await storage.shutdown() }
    }

    public func checkAvailable() throws { try first.checkAvailable() }

    /// Whether any store is.
    public var isOutOfReach: Bool { all.contains { $0.isOutOfReach } }

    /// Stores a file in the first.
    public func write<Contents: AsyncSequence>(
        name: String, details: FileDetails, contents: Contents
    ) async throws where Contents.Element == ByteBuffer {
        try await first.write(name: name, details: details, contents: contents)
    }

    /// Opens a file where it is. An error is no absence: an outage must not look like a loss.
    public func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
        for storage in all {
            if let file = try await storage.open(name: name, for: wish) { return file }
        }
        return nil
    }

    /// What the client said about a file, from where it is.
    public func details(name: String) async throws -> FileDetails {
        for storage in all {
            if try await storage.exists(name: name) { return try await storage.details(name: name) }
        }
        return FileDetails()
    }

    /// Removes a file from all of them: from the first at last, so that no older one of the name is read meanwhile, and no
    /// copy that is under way brings it back.
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

    /// Gives the files of all of them, each once.
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
