import FileStorage
import Foundation
import JSON
import TestSupport
import Testing

@Suite("Folders of files of several processes")
struct FileFolderTests {
    private static let warning = "keeps uploaded files in another folder"

    @Test("Processes with different folders warn, both of them and once; those that share one do not")
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

    @Test("A folder has one mark for all who share it, however many ask at once, and it is no file")
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
