import Foundation
import JSON
import TestSupport
import Testing

/// `roost export` as a process: its output, its exit status, and the leftovers of an interrupted one.
@Suite struct ExportProcessTests {
    private static func withRows(_ count: Int, _ body: @escaping @Sendable (ExportFolder) async throws -> Void)
        async throws
    {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "first"])
            try await server.execute(
                """
                INSERT INTO "Song" ("objectId", "title", "createdAt", "updatedAt")
                SELECT 's' || i, repeat('la ', 20), now(), now() FROM generate_series(2, \(count)) i
                """)
            try await ExportFolder.run(server.databaseURI, body)
        }
    }

    private static func roost(_ folder: ExportFolder, _ arguments: [String]) async throws -> (
        status: Int32, output: String
    ) {
        try await ExportFolder.command(
            [CrashServer.findBinary(), "export"] + arguments + folder.arguments, in: folder.path)
    }

    @Test("Prints a line per class or JSON events; exits with 1 if it fails and 64 for wrong arguments")
    func output() async throws {
        try await Self.withRows(3) { folder in
            let plain = try await Self.roost(folder, ["one", "--classes", "Song,_User"])
            #expect(plain.status == 0, "\(plain.output)")
            #expect(plain.output.split(separator: "\n").contains("Song  3 rows"), "\(plain.output)")
            #expect(plain.output.contains("exported 3 rows and 0 files as of "))
            #expect(!plain.output.contains("\r"))

            let script = try await Self.roost(folder, ["two", "--json", "--no-files"])
            #expect(script.status == 0)
            let events = try script.output.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
            #expect(events.contains(["event": "class", "name": "Song", "rows": 3]))
            #expect(events.last?["event"] == "done")

            let again = try await Self.roost(folder, ["two", "--json"])
            #expect(again.status == 1)
            #expect(again.output.contains("\"event\":\"failed\""))
            #expect(again.output.contains("is not empty"))

            for wrong in [
                ["--classes", "Song"], [], ["three", "--since", "yesterday"], ["three", "--format", "xml"],
            ] {
                let answer = try await Self.roost(folder, wrong)
                #expect(answer.status == 64, "\(wrong): \(answer.output)")
            }
            let unknown = try await Self.roost(folder, ["three", "--noSuchOption", "x"])
            #expect(unknown.status == 64)
            #expect(unknown.output.contains("unknown option --noSuchOption"))
            #expect(try folder.entries() == ["data", "one", "two"])
        }
    }

    @Test(
        "A killed export leaves a partial folder, which the next one removes; SIGTERM leaves none")
    func stopped() async throws {
        try await Self.withRows(150_000) { folder in
            let command = [try CrashServer.findBinary(), "export", folder.path + "/out"] + folder.arguments
            let partial = folder.path + "/.out.partial/Song.json"
            func written() -> Date? {
                let facts = try? FileManager.default.attributesOfItem(atPath: partial)
                return (facts?[.size] as? Int ?? 0) > 0 ? facts?[.modificationDate] as? Date : nil
            }
            for signal in [SIGKILL, SIGTERM] {
                // The second run finds the leftovers of the first.
                let left = written()
                let process = try await CrashProcess.start(command, output: folder.path + "/output.txt")
                let isWriting = try await eventually {
                    written().map { $0 != left } ?? false || !process.isRunning
                }
                #expect(isWriting)
                kill(process.identifier, signal)
                #expect(try await eventually { !process.isRunning })
                let entries = try folder.entries()
                #expect(!entries.contains("out"))
                if signal == SIGKILL {
                    #expect(process.end == .signal(SIGKILL))
                    #expect(entries.contains(".out.partial"))
                } else {
                    #expect(process.end == .exit(status: 130))
                    #expect(!entries.contains(".out.partial"))
                }
            }
            let whole = try await Self.roost(folder, ["out"])
            #expect(whole.status == 0, "\(whole.output)")
            #expect(try folder.objects("Song.json").count == 150_000)
            let entries = try folder.entries()
            #expect(!entries.contains(".out.partial"))
        }
    }
}
