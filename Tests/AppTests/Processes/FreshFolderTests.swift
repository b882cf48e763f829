import App
import Foundation
import Testing

/// Folders that appear only when they are complete.
@Suite struct FreshFolderTests {
    private static func withFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-fresh-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    private static func write(_ text: String, _ path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    @Test("A folder appears only when complete, replaces an empty one, and creates its parents")
    func appears() throws {
        try Self.withFolder { folder in
            for target in [folder + "/new", folder + "/deep/er/new", folder + "/empty/", folder + "/x/../dots"] {
                if target.hasSuffix("empty/") {
                    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
                }
                let fresh = try FreshFolder(target: target)
                try Self.write("a", fresh.path + "/a")
                #expect(!FileManager.default.fileExists(atPath: target + "/a"))
                try fresh.appear()
                let place = URL(fileURLWithPath: target).standardizedFileURL.path
                #expect(FileManager.default.fileExists(atPath: place + "/a"), "\(target)")
                #expect(!FileManager.default.fileExists(atPath: fresh.path))
            }
        }
    }

    @Test("Refuses two concurrent writers, and clears what an abandoned one left behind")
    func oneAtATime() throws {
        try Self.withFolder { folder in
            do {
                let first = try FreshFolder(target: folder + "/out")
                try FileManager.default.createDirectory(
                    atPath: first.path + "/files/inner", withIntermediateDirectories: true)
                #expect(throws: CommandFailure.self) { _ = try FreshFolder(target: folder + "/out") }
                #expect(FileManager.default.fileExists(atPath: first.path + "/files/inner"))
            }
            // The first one was abandoned and left its hidden folder.
            let next = try FreshFolder(target: folder + "/out")
            #expect(try FileManager.default.contentsOfDirectory(atPath: next.path).isEmpty)
            next.abandon()
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    @Test("Fails without touching a folder of the same name that was created meanwhile")
    func taken() throws {
        try Self.withFolder { folder in
            let fresh = try FreshFolder(target: folder + "/out")
            try FileManager.default.createDirectory(atPath: folder + "/out", withIntermediateDirectories: true)
            try Self.write("theirs", folder + "/out/file")
            #expect(throws: CommandFailure.self) { try fresh.appear() }
            #expect(try String(contentsOfFile: folder + "/out/file", encoding: .utf8) == "theirs")
        }
    }
}
