import App
import Foundation
import JSON
import ParseModel
import TestSupport
import Testing

/// Backup archives: writing, reading, and rejection of damaged ones.
@Suite struct BackupArchiveTests {
    private static func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-archive-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    private static let longName = "files/" + String(repeating: "n", count: 240) + ".bin"

    /// Writes a small archive that uses all header fields.
    private static func write(_ path: String, _ more: (BackupWriter) throws -> Void = { _ in }) throws {
        let writer = try BackupWriter(path)
        let manifest = BackupManifest(appId: "a", created: ParseDate(milliseconds: 1000), postgresVersion: 15)
        try writer.add(BackupManifest.path, manifest.json.serialized(), modified: 1)
        try writer.addFolder("postgres")
        try writer.addFolder("files")
        try writer.add("files/a.txt", Array("hello".utf8), modified: 1_700_000_000)
        try writer.add("files/empty", [], modified: 2)
        try writer.add(longName, [UInt8](repeating: 7, count: 512), modified: 3)
        try more(writer)
        try writer.finish()
    }

    private static func unpack(_ path: String, to folder: String) throws {
        let reader = try BackupReader(path)
        _ = try reader.manifest()
        try reader.readEntries(
            into: RestoreSink(folders: ["postgres": folder + "/postgres", "files": folder + "/files"]))
    }

    @Test("An archive is readable by Roost, tar and sha256sum")
    func whole() async throws {
        try await Self.withFolder { folder in
            let path = folder + "/b.tar"
            try Self.write(path)
            let reader = try BackupReader(path)
            #expect(try reader.manifest().postgresVersion == 15)
            try Self.unpack(path, to: folder + "/own")
            #expect(try String(contentsOfFile: folder + "/own/files/a.txt", encoding: .utf8) == "hello")
            #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/own/" + Self.longName)).count == 512)
            let modified = try FileManager.default.attributesOfItem(atPath: folder + "/own/files/a.txt")
            #expect(modified[.modificationDate] as? Date == Date(timeIntervalSince1970: 1_700_000_000))
            try FileManager.default.createDirectory(atPath: folder + "/tar", withIntermediateDirectories: true)
            let unpacked = try await ExportFolder.command(["/usr/bin/tar", "-xf", path], in: folder + "/tar")
            #expect(unpacked.status == 0, "\(unpacked.output)")
            let checked = try await ExportFolder.command(
                ["/usr/bin/sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"], in: folder + "/tar")
            #expect(checked.status == 0, "\(checked.output)")
        }
    }

    @Test("Rejects an archive with a changed byte, a missing end or trailing data")
    func damage() async throws {
        try await Self.withFolder { folder in
            let path = folder + "/b.tar"
            try Self.write(path)
            let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            let changed = folder + "/changed.tar"
            func isRefused(_ bytes: [UInt8]) throws -> Bool {
                try Data(bytes).write(to: URL(fileURLWithPath: changed))
                do {
                    let reader = try BackupReader(changed)
                    _ = try reader.manifest()
                    try reader.readEntries(into: BackupCheck())
                    return false
                } catch is CommandFailure {
                    return true
                }
            }
            #expect(try !isRefused(bytes))
            for position in stride(from: 0, to: bytes.count, by: 3) {
                var damaged = bytes
                damaged[position] ^= 1 << UInt8(position % 8)
                #expect(try isRefused(damaged), "byte \(position)")
            }
            for length in stride(from: 0, to: bytes.count, by: 97) {
                #expect(try isRefused(Array(bytes.prefix(length))), "\(length) bytes")
            }
            #expect(try isRefused(bytes + [UInt8](repeating: 0, count: 512)))
            #expect(try isRefused([]))
        }
    }

    @Test(
        "Rejects archive entries with unsafe, foreign or duplicate paths and writes nothing outside the target",
        arguments: [
            "../out", "/tmp/out", "files/../../out", "files//out", "files/./out", "other/out", "files/a.txt", "",
            "files/", "postgres/../files/out", "files/../\u{338}out", "files/../\u{301}x/out",
        ])
    func paths(path: String) async throws {
        try await Self.withFolder { folder in
            try Self.write(folder + "/b.tar") { try $0.add(path, Array("x".utf8), modified: 0) }
            #expect(throws: CommandFailure.self) { try Self.unpack(folder + "/b.tar", to: folder + "/inner/place") }
            #expect(!FileManager.default.fileExists(atPath: folder + "/inner/out"))
            #expect(!FileManager.default.fileExists(atPath: folder + "/out"))
            #expect(!FileManager.default.fileExists(atPath: "/tmp/out"))
        }
    }

    @Test("Refuses files that aren't backups, other PostgreSQL versions, and external databases")
    func foreign() async throws {
        try await Self.withFolder { folder in
            try Data("hello".utf8).write(to: URL(fileURLWithPath: folder + "/note"))
            let made = try await ExportFolder.command(["/usr/bin/tar", "-cf", "foreign.tar", "note"], in: folder)
            #expect(made.status == 0)
            let writer = try BackupWriter(folder + "/old.tar")
            let manifest = BackupManifest(appId: "a", created: ParseDate(milliseconds: 0), postgresVersion: 9)
            try writer.add(BackupManifest.path, manifest.json.serialized(), modified: 0)
            try writer.finish()
            for (file, reason) in [
                ("foreign.tar", "is damaged or isn't a Roost backup"), ("note", "is damaged or isn't a Roost backup"),
                ("old.tar", "PostgreSQL 9"), ("nothing", "can't be read"), ("", "is not a file"),
            ] {
                let deployment = try Deployment(
                    arguments: ["--dataDir", folder + "/data"], environment: [:], needsKeys: false)
                do {
                    _ = try await Restore(deployment, file: folder + "/" + file).run()
                    Issue.record("\(file) must be refused")
                } catch let error as CommandFailure {
                    #expect(error.description.contains(reason), "\(error)")
                }
                #expect(!FileManager.default.fileExists(atPath: folder + "/data"))
                #expect(!FileManager.default.fileExists(atPath: folder + "/.data.partial"))
            }
            let elsewhere = try Deployment(
                arguments: ["--dataDir", folder + "/data", "--databaseURI", "postgres://x/y"], environment: [:],
                needsKeys: false)
            await #expect(throws: CommandFailure.self) {
                _ = try await Backup(elsewhere, file: folder + "/b.tar", logger: TestServer.quietLogger).run()
            }
            await #expect(throws: CommandFailure.self) {
                _ = try await Restore(elsewhere, file: folder + "/old.tar").run()
            }
        }
    }
}
