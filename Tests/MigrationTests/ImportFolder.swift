import FileStorage
import Foundation
import JSON
import Migration
import TestSupport
import TestTools

/// A temporary folder with a source and the output of an import.
struct ImportFolder: Sendable {
    let path: String

    static func run<R>(_ body: (ImportFolder) async throws -> R) async throws -> R {
        let path = FileManager.default.temporaryDirectory.path + "/roost-import-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path + "/source", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await body(ImportFolder(path: path))
    }

    /// Samples created with MongoDB's own encoder.
    static let samples = Checkout.path("Tests/MigrationTests/Samples")

    var source: String { path + "/source" }
    var files: DiskStorage { DiskStorage(directory: path + "/files") }

    func write(_ name: String, _ bytes: [UInt8]) throws {
        let file = URL(fileURLWithPath: source + "/" + name)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
    }

    func write(_ name: String, _ text: String) throws { try write(name, Array(text.utf8)) }

    private func run(_ source: String, _ change: (inout ImportOptions) -> Void) -> ImportRun {
        var options = ImportOptions()
        options.scratch = path + "/scratch"
        options.rejects = path + "/rejects.jsonl"
        change(&options)
        return ImportRun(source, options, ImportProgress(), logger: TestServer.quietLogger)
    }

    /// Imports a source. The default is the folder's own.
    @discardableResult
    func load(_ source: String? = nil, into server: TestServer, _ change: (inout ImportOptions) -> Void = { _ in })
        async throws -> ImportReport
    {
        try await run(source ?? self.source, change).load(into: server.databaseURI, files: files, storedFiles: files)
    }

    /// Inspects a source. The default is the folder's own.
    func look(_ source: String? = nil, _ change: (inout ImportOptions) -> Void = { _ in }) async throws -> ImportReport
    {
        try await run(source ?? self.source, change).inspect()
    }

    /// The lines of the rejects file.
    func rejects() throws -> [JSONValue] {
        guard let data = FileManager.default.contents(atPath: path + "/rejects.jsonl") else { return [] }
        return try data.split(separator: UInt8(ascii: "\n")).map { try JSONValue(parsing: Array($0)) }
    }
}

extension TestServer {
    /// All rows of a table as JSON texts, sorted.
    func table(_ name: String) async throws -> [String] {
        try await texts("SELECT to_jsonb(t)::text FROM \"\(name)\" t ORDER BY 1")
    }

    /// A row of a table, or null if it doesn't exist.
    func row(_ name: String, _ id: String) async throws -> JSONValue {
        let texts = try await texts("SELECT to_jsonb(t)::text FROM \"\(name)\" t WHERE \"objectId\" = '\(id)'")
        return try texts.first.map { try JSONValue(parsing: $0) } ?? .null
    }
}
