import FileStorage
import Foundation
import JSON
import NIOCore
import TestSupport
import Testing

@Suite("File folder on disk")
struct FileFolderTests {
    private static let warning = "stores uploads in a different folder"

    @Test("Two processes with different file folders both log a warning, once each")
    func differentFolders() async throws {
        let (first, second, third) = (LogLines(), LogLines(), LogLines())
        try await TestServer.run(logger: first.logger) { server in
            let isReported = try await server.alongside(logger: second.logger) { _ in
                try await eventually {
                    first.all.contains { $0.contains(Self.warning) }
                        && second.all.contains { $0.contains(Self.warning) }
                }
            }
            #expect(isReported, "\(first.all) \(second.all)")
            _ = try await server.alongside(logger: third.logger) { _ in
                try await eventually { third.all.contains { $0.contains(Self.warning) } }
            }
            #expect(second.all.count { $0.contains(Self.warning) } == 1)
        }
    }

    @Test("Rolls back a write whose metadata can't be stored, and keeps the previous file")
    func detailsFail() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-test-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let storage = DiskStorage(directory: folder)
        try await storage.write(name: "old.txt", details: FileDetails(metadata: ["a": 1]), bytes: [1])
        for name in ["old.txt", "new.txt"] {
            // A file can't replace a folder, so writing the metadata fails.
            try? FileManager.default.removeItem(atPath: "\(folder)/.metadata/\(name)")
            try FileManager.default.createDirectory(
                atPath: "\(folder)/.metadata/\(name)/x", withIntermediateDirectories: true)
            await #expect(throws: IOError.self) {
                try await storage.write(name: name, details: FileDetails(metadata: ["a": 2]), bytes: [1, 2])
            }
        }
        #expect(try await storage.open(name: "old.txt")?.size == 1)
        #expect(try await storage.open(name: "new.txt") == nil)
        let left =
            try FileManager.default.contentsOfDirectory(atPath: folder)
            + FileManager.default.contentsOfDirectory(atPath: folder + "/.metadata")
        #expect(!left.contains { $0.hasPrefix(".upload-") })
    }

    @Test("Removes unfinished uploads older than a day, and no other files")
    func unfinished() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-test-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let storage = DiskStorage(directory: folder)
        try await storage.write(name: "a.txt", bytes: [1])
        for (name, age) in [(".upload-old", 90_000.0), (".tmp-old000", 90_000), (".upload-new", 3600)] {
            try Data([1]).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            try FileManager.default.setAttributes(
                [.modificationDate: Date().addingTimeInterval(-age)], ofItemAtPath: "\(folder)/\(name)")
        }
        let tending = Task { await storage.tend() }
        let isRemoved = try await eventually {
            [".upload-old", ".tmp-old000"].allSatisfy { !FileManager.default.fileExists(atPath: "\(folder)/\($0)") }
        }
        #expect(isRemoved)
        #expect(FileManager.default.fileExists(atPath: folder + "/.upload-new"))
        #expect(FileManager.default.fileExists(atPath: folder + "/a.txt"))
        tending.cancel()
        await tending.value
    }

    @Test("Concurrent callers get the same marker for a folder, which isn't listed as a file")
    func mark() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-test-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let storage = DiskStorage(directory: folder)
        try await storage.prepare()
        let marks = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 { group.addTask { try await DiskStorage(directory: folder).mark() } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(marks.count == 1)
        #expect(marks.first?.isEmpty == false)
        var files: [String] = []
        try await storage.visit(prefix: "") { files.append($0.name) }
        #expect(files.isEmpty)
    }
}
