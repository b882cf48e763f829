public import FileStorage
import Platform
public import ServerConfiguration

/// `roost files check`: tests every operation that the server needs, using a temporary file.
public struct FileCheck: Sendable {
    /// The result of one operation.
    public struct Step: Sendable {
        /// The operation, and for most operations in a bucket the required permission.
        public let name: String
        /// The reason for the failure, or nil if the operation succeeded.
        public let failure: String?
    }

    private let storage: any FileStorage
    /// The provider's permission names, or empty strings if the provider has none.
    private let rights: (store: String, read: String, list: String, delete: String)

    /// - Parameter store: The configuration of the storage, which determines the names of permissions.
    public init(_ storage: any FileStorage, of store: Configuration.FileStore = .disk) {
        self.storage = storage
        rights =
            switch store {
            case .s3: (" (s3:PutObject)", " (s3:GetObject)", " (s3:ListBucket)", " (s3:DeleteObject)")
            case .google:
                (
                    " (storage.objects.create)", " (storage.objects.get)", " (storage.objects.list)",
                    " (storage.objects.delete)"
                )
            case .disk, .postgres: ("", "", "", "")
            }
    }

    /// Tests all operations, even after a failure.
    ///
    /// - Parameter report: Receives each result.
    /// - Returns: Whether all operations succeeded.
    public func run(_ report: (Step) -> Void) async -> Bool {
        let name = "roost-check-\(UUID().uuidString).txt"
        let bytes = Array("0123456789".utf8)
        var isGood = true
        func step(_ title: String, _ body: () async throws -> String?) async {
            var failure: String?
            do { failure = try await body() } catch { failure = "\(error)" }
            if failure != nil { isGood = false }
            report(Step(name: title, failure: failure))
        }
        await step("store a file\(rights.store)") {
            try await storage.write(name: name, details: FileDetails(metadata: ["check": "yes"]), bytes: bytes)
            return nil
        }
        await step("read it\(rights.read)") {
            guard let file = try await storage.open(name: name) else { return "the file is missing" }
            var read: [UInt8] = []
            try await file.give(0..<file.size) { read += $0.readableBytesView }
            return read == bytes ? nil : "the store returned different bytes"
        }
        await step("read part of it") {
            guard let file = try await storage.open(name: name, for: FileWish(range: "bytes=2-4")) else {
                return "the file is missing"
            }
            var read: [UInt8] = []
            try await file.give(2..<5) { read += $0.readableBytesView }
            return read == Array(bytes[2..<5]) ? nil : "the store returned different bytes"
        }
        await step("read its metadata") {
            try await storage.details(name: name).metadata["check"] == "yes" ? nil : "the metadata is missing"
        }
        await step("list it\(rights.list)") {
            var isListed = false
            try await storage.visit(prefix: name) { if $0.name == name { isListed = true } }
            return isListed ? nil : "it is not listed"
        }
        await step("delete it\(rights.delete)") {
            try await storage.delete(name: name)
            return nil
        }
        await step("check that it was deleted\(rights.list)") {
            try await storage.open(name: name) == nil ? nil : "the file still exists"
        }
        return isGood
    }
}
