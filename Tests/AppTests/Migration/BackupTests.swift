import FileStorage
import Foundation
import JSON
import LocalPostgres
import Synchronization
import TestSupport
import Testing

/// `roost backup` of a running server and `roost restore`, as processes with an embedded PostgreSQL.
@Suite struct BackupTests {
    private static func roost(_ command: String, _ target: String, _ server: CrashServer) async throws -> (
        status: Int32, output: String
    ) {
        try await ExportFolder.command(arguments(command, target, server), in: server.folder)
    }

    private static func arguments(_ command: String, _ target: String, _ server: CrashServer) throws -> [String] {
        [
            try CrashServer.findBinary(), command, target, server.folder + "/config.json", "--dataDir",
            server.folder + "/data",
        ]
    }

    /// The ids of objects whose creation was acknowledged.
    private final class Answered: Sendable {
        private let state: Mutex<Set<String>>

        init(_ id: String) { state = Mutex([id]) }

        var ids: Set<String> { state.withLock { $0 } }

        func add(_ id: String) { state.withLock { _ = $0.insert(id) } }
    }

    private static func row(_ server: CrashServer) async throws -> String {
        let answer = try await server.send("POST", "/classes/Row", ["a": 1])
        return try #require(answer.body["objectId"]?.stringValue)
    }

    private static func rows(_ server: CrashServer) async throws -> Set<String> {
        let answer = try await server.send("GET", "/classes/Row?limit=100000&keys=objectId")
        return Set((answer.body["results"]?.arrayValue ?? []).compactMap { $0["objectId"]?.stringValue })
    }

    private static func leftovers(_ server: CrashServer) throws -> [String] {
        let files = FileManager.default
        return try files.contentsOfDirectory(atPath: server.folder).filter { $0.hasSuffix(".partial") }
            + files.contentsOfDirectory(atPath: server.folder + "/data/postgres").filter { $0.hasPrefix("copy-") }
    }

    @Test(
        "A backup made during writes restores everything acknowledged before it began"
    )
    func underWrites() async throws {
        try await CrashServer.run { server in
            try await server.start()
            let storage = DiskStorage(directory: server.folder + "/data/files")
            try await storage.write(
                name: "a b.txt", details: FileDetails(metadata: ["x": 1]), bytes: Array("hello".utf8))
            _ = try await server.send("POST", "/users", ["username": "kim", "password": "secret"])
            let first = try await Self.row(server)
            let written = Answered(first)
            let stop = StopSign()
            let before = try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 1...2 {
                    tasks.addTask {
                        while !stop.isShown {
                            written.add(try await Self.row(server))
                        }
                    }
                }
                defer { stop.show() }
                _ = try await eventually { written.ids.count > 20 }
                let before = written.ids
                let made = try await Self.roost("backup", server.folder + "/b.tar", server)
                #expect(made.status == 0, "\(made.output)")
                #expect(made.output.contains("backed up"))
                stop.show()
                try await tasks.waitForAll()
                return before
            }
            #expect(try Self.leftovers(server).isEmpty)
            let again = try await Self.roost("backup", server.folder + "/b.tar", server)
            #expect(again.status == 1)
            #expect(again.output.contains("already exists"))
            let full = try await Self.roost("restore", server.folder + "/b.tar", server)
            #expect(full.status == 1)
            #expect(full.output.contains("is not empty"))
            let all = written.ids
            try await CrashServer.run { other in
                let restored = try await Self.roost("restore", server.folder + "/b.tar", other)
                #expect(restored.status == 0, "\(restored.output)")
                try await other.start()
                let rows = try await Self.rows(other)
                #expect(before.isSubset(of: rows))
                #expect(rows.isSubset(of: all.union(try await Self.rows(server))))
                let login = try await other.send("POST", "/login", ["username": "kim", "password": "secret"])
                #expect(login.status == 200)
                _ = try await Self.row(other)
                let copy = DiskStorage(directory: other.folder + "/data/files")
                let file = try #require(try await copy.open(name: "a b.txt"))
                #expect(file.size == 5)
                #expect(try await copy.details(name: "a b.txt").metadata == ["x": 1])
                let original = try #require(try await storage.open(name: "a b.txt"))
                #expect(file.modified.seconds == original.modified.seconds)
                // The files folder can be outside the data folder.
                let elsewhere = try await ExportFolder.command(
                    [
                        CrashServer.findBinary(), "restore", server.folder + "/b.tar", "--dataDir",
                        other.folder + "/second", "--filesDirectory", other.folder + "/uploads",
                    ], in: "/")
                #expect(elsewhere.status == 0, "\(elsewhere.output)")
                let uploads = DiskStorage(directory: other.folder + "/uploads")
                #expect(try await uploads.open(name: "a b.txt")?.size == 5)
                #expect(FileManager.default.fileExists(atPath: other.folder + "/second/postgres/cluster/PG_VERSION"))
                #expect(try Self.leftovers(other).isEmpty)
            }
        }
    }

    @Test("A backup fails if the files folder can't be listed, but not if it doesn't exist")
    func withoutFiles() async throws {
        try await CrashServer.run { server in
            try await server.start()
            let files = server.folder + "/data/files"
            let storage = DiskStorage(directory: files)
            try await storage.write(name: "a.txt", bytes: [1])
            try FileManager.default.moveItem(atPath: files, toPath: files + "-aside")
            // Root can list any folder, so the test uses a file instead.
            try Data([1]).write(to: URL(fileURLWithPath: files))
            let refused = try await Self.roost("backup", server.folder + "/b.tar", server)
            #expect(refused.status == 1)
            #expect(refused.output.contains("can't be listed"), "\(refused.output)")
            #expect(!FileManager.default.fileExists(atPath: server.folder + "/b.tar"))
            try FileManager.default.removeItem(atPath: files)
            // The folder doesn't exist before the first upload.
            let empty = try await Self.roost("backup", server.folder + "/empty.tar", server)
            #expect(empty.status == 0, "\(empty.output)")
            try FileManager.default.moveItem(atPath: files + "-aside", toPath: files)
            let made = try await Self.roost("backup", server.folder + "/b.tar", server)
            #expect(made.status == 0, "\(made.output)")
            #expect(try Self.leftovers(server).isEmpty)
        }
    }

    @Test("Restoring drops the backup's PostgreSQL configuration, so commands in it never run")
    func hostile() async throws {
        let ran = "/tmp/roost-ran-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: ran) }
        try await CrashServer.run { server in
            try await server.start()
            let id = try await Self.row(server)
            // PostgreSQL reads these settings at startup, but not in the restored copy.
            let cluster = server.folder + "/data/postgres/cluster/"
            for (file, text) in [
                ("postgresql.conf", "include 'more.conf'"), ("postgresql.auto.conf", "archive_mode = on"),
                ("more.conf", "restore_command = 'touch \(ran); false'\narchive_command = 'touch \(ran)'"),
                ("recovery.signal", ""), ("pg_ident.conf", "# more"), ("pg_hba.conf", "local all all reject"),
            ] {
                let old = (try? String(contentsOfFile: cluster + file, encoding: .utf8)) ?? ""
                try "\(old)\n\(text)\n".write(toFile: cluster + file, atomically: false, encoding: .utf8)
                // All files of a cluster must belong to PostgreSQL's user.
                let owner = try FileManager.default.attributesOfItem(atPath: cluster + "PG_VERSION")
                try FileManager.default.setAttributes(
                    owner.filter { [.ownerAccountID, .groupOwnerAccountID].contains($0.key) },
                    ofItemAtPath: cluster + file)
            }
            let made = try await Self.roost("backup", server.folder + "/b.tar", server)
            #expect(made.status == 0, "\(made.output)")
            try await CrashServer.run { other in
                let restored = try await Self.roost("restore", server.folder + "/b.tar", other)
                #expect(restored.status == 0, "\(restored.output)")
                let folder = other.folder + "/data/postgres/"
                let files = Set(try FileManager.default.contentsOfDirectory(atPath: folder + "cluster"))
                #expect(files.isDisjoint(with: ["more.conf", "recovery.signal"]))
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["cluster"])
                for file in ["postgresql.conf", "postgresql.auto.conf", "pg_ident.conf", "pg_hba.conf"] {
                    let text = try String(contentsOfFile: "\(folder)cluster/\(file)", encoding: .utf8)
                    let words = ["more", "archive_mode = on", "all reject"]
                    #expect(!words.contains { text.contains("\n\($0)") || text.contains("include '") }, "\(file)")
                }
                try await other.start()
                #expect(try await Self.rows(other).contains(id))
                _ = try await Self.row(other)
            }
            #expect(!FileManager.default.fileExists(atPath: ran))
        }
    }

    @Test(
        "A killed or terminated backup leaves no archive; the server and the next backup are unaffected")
    func stopped() async throws {
        try await CrashServer.run { server in
            try await server.start()
            let id = try await Self.row(server)
            let target = server.folder + "/b.tar"
            func copies() throws -> Set<String> {
                let entries = try FileManager.default.contentsOfDirectory(atPath: server.folder + "/data/postgres")
                return Set(entries.filter { $0.hasPrefix("copy-") })
            }
            for signal in [SIGKILL, SIGTERM] {
                // The second run finds the leftovers of the first.
                let left = try copies()
                let process = try await CrashProcess.start(
                    Self.arguments("backup", target, server), output: server.folder + "/backup.txt")
                _ = try await eventually { try !copies().subtracting(left).isEmpty || !process.isRunning }
                kill(process.identifier, signal)
                #expect(try await eventually { !process.isRunning })
                #expect(process.end == (signal == SIGKILL ? .signal(SIGKILL) : .exit(status: 130)))
                #expect(!FileManager.default.fileExists(atPath: target))
                if signal == SIGTERM { #expect(try Self.leftovers(server).isEmpty) }
                #expect(try await Self.rows(server).contains(id))
            }
            _ = try await server.end(by: SIGTERM)
            // Without a running server, the backup starts the database itself.
            let made = try await Self.roost("backup", target, server)
            #expect(made.status == 0, "\(made.output)")
            #expect(try Self.leftovers(server).isEmpty)
            #expect(server.postmaster == nil)
            try await server.start()
            #expect(try await Self.rows(server).contains(id))
        }
    }
}
