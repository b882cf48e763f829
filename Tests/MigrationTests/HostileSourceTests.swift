import BSON
import Foundation
import JSON
import Migration
import Synchronization
import TestSupport
import TestTools
import Testing

/// Damaged and malicious sources. Each leads to an error or to rejects, never to anything else.
@Suite struct HostileSourceTests {
    private static let song = "{\"objectId\":\"s1\",\"title\":\"x\"}"

    private static func outcome(_ folder: ImportFolder, _ source: String? = nil) async -> String {
        do {
            let report = try await folder.look(source)
            return report.classes.map { "\($0.name) \($0.rows)/\($0.documents) \($0.failure ?? "")" }
                .joined(separator: "; ")
        } catch {
            return "\(error)"
        }
    }

    @Test("Reads JSON files of every form, and reports the errors in damaged ones")
    func json() async throws {
        let deep =
            "{\"objectId\":\"s1\",\"o\":" + String(repeating: "{\"a\":", count: 99) + "1"
            + String(repeating: "}", count: 100)
        let endless =
            "{\"objectId\":\"s1\",\"o\":" + String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000)
            + "}"
        let scenarios: [(String, String, String)] = [
            ("lines", Self.song + "\n" + Self.song.replacing("s1", with: "s2") + "\n", "Song 2/2 "),
            ("a list", "[\(Self.song),\n\(Self.song)]", "Song 2/2 "),
            ("results", "\u{FEFF} { \"results\" : [ \(Self.song) ] } \n", "Song 1/1 "),
            ("an empty file", "", "Song 0/0 "), ("an empty list", " [ ] ", "Song 0/0 "),
            ("empty results", "{\"results\":[]}", "Song 0/0 "),
            ("an object called results", "{\"results\":{\"a\":1}}", "Song 0/1 "),
            ("an unterminated list", "[\(Self.song)", "unexpected end of file"),
            ("unterminated results", "{\"results\":[\(Self.song)]", "the object has no end"),
            ("unexpected data after the end", "[\(Self.song)] x", "unexpected data after the end"),
            ("an unterminated object", "{\"objectId\":\"s1\"", "one without an end"),
            ("an unterminated string", "{\"objectId\":\"s1", "one without an end"),
            ("a missing comma", "[\(Self.song) \(Self.song)]", "expected a comma between objects"),
            ("a number", "5", "neither an object nor a list"),
            ("a list of numbers", "[1,2]", "expected an object"),
            ("a malformed object", "{\"objectId\" \"s1\"}\n\(Self.song)", "Song 1/2 "),
            ("a hundred levels", deep, "Song 1/1 "), ("five thousand levels", endless, "Song 0/1 "),
            ("no id", "{\"title\":\"x\"}", "Song 0/1 "), ("an id that is a list", "{\"objectId\":[1]}", "Song 0/1 "),
        ]
        for (name, text, expected) in scenarios {
            try await ImportFolder.run { folder in
                try folder.write("Song.json", text)
                let outcome = await Self.outcome(folder)
                #expect(outcome.contains(expected), "\(name): \(outcome)")
            }
        }
    }

    @Test("Reads or rejects a BSON file that is truncated or has flipped bits")
    func bson() async throws {
        let whole = try Array(
            Data(contentsOf: URL(fileURLWithPath: ImportFolder.samples + "/dump/parse/Everything.bson")))
        let schema = try Array(
            Data(contentsOf: URL(fileURLWithPath: ImportFolder.samples + "/dump/parse/_SCHEMA.bson")))
        var random = SplitMix64(seed: 7)
        for number in 0..<60 {
            var bytes = whole
            if number % 2 == 0 {
                bytes = Array(bytes.prefix(Int.random(in: 1..<whole.count, using: &random)))
            } else {
                for _ in 0..<3 {
                    bytes[Int.random(in: 0..<bytes.count, using: &random)] ^=
                        1 << UInt8.random(in: 0..<8, using: &random)
                }
            }
            try await ImportFolder.run { folder in
                try folder.write("_SCHEMA.bson", schema)
                try folder.write("Everything.bson", bytes)
                let outcome = await Self.outcome(folder)
                #expect(outcome.contains("Everything "), "\(number): \(outcome)")
            }
        }
    }

    @Test("Rejects files that unpack to more than 400 times their size")
    func bombs() async throws {
        // 16 MB of zeros, compressed to a thousandth of that.
        let length: [UInt8] = [0, 0, 0, 1]
        let document = length + [UInt8](repeating: 0, count: 0xFFFFFC)
        let packed = ZipBytes.gzip(document)
        let bomb = packed + packed + packed + packed + packed + packed
        try await ImportFolder.run { folder in
            try folder.write("Song.bson.gz", bomb)
            #expect(await Self.outcome(folder).contains("it unpacks to more than 400 times its size"))
        }
        try await ImportFolder.run { folder in
            var zip = ZipBytes()
            zip.add("Song.bson", document + document + document + document + document)
            try folder.write("bomb.zip", zip.file)
            let outcome = await Self.outcome(folder, folder.source + "/bomb.zip")
            #expect(outcome.contains("it unpacks to more than 400 times its size"), "\(outcome)")
        }
    }

    @Test("Rejects zip files with unsafe names or wrong offsets and sizes")
    func zip() async throws {
        let content = Array("{\"results\":[\(Self.song)]}".utf8)
        let scenarios: [(String, (inout ZipBytes) -> Void, String)] = [
            ("a valid archive", { $0.add("export/Song.json", content) }, "Song 1/1"),
            ("an uncompressed entry", { $0.add("Song.json", content, deflated: false) }, "Song 1/1"),
            (
                "folders and files that macOS adds",
                {
                    $0.add("export/", [], deflated: false)
                    $0.add("export/Song.json", content)
                    $0.add("__MACOSX/export/._Song.json", [1, 2])
                }, "Song 1/1"
            ),
            ("a name outside the folder", { $0.add("../Song.json", content) }, "leads out of the folder"),
            ("a nested name outside it", { $0.add("a/../../Song.json", content) }, "leads out of the folder"),
            ("an absolute name", { $0.add("/etc/Song.json", content) }, "leads out of the folder"),
            ("a name with backslashes", { $0.add("..\\Song.json", content) }, "leads out of the folder"),
            ("a name with NUL", { $0.add("Song.json\0.txt", content) }, "leads out of the folder"),
            (
                "a duplicate name",
                {
                    $0.add("Song.json", content)
                    $0.add("Song.json", content)
                }, "is in the archive twice"
            ),
            (
                "overlapping entries",
                {
                    $0.add("Song.json", content)
                    $0.add("Other.json", content, header: 0)
                }, "its entries overlap"
            ),
            ("an offset beyond the end", { $0.add("Song.json", content, header: 1 << 30) }, "its entries overlap"),
            ("a size that is too small", { $0.add("Song.json", content, size: 3) }, "larger than its header says"),
            ("a size that is too large", { $0.add("Song.json", content, size: 3000) }, "its checksum doesn't match"),
        ]
        for (name, make, expected) in scenarios {
            try await ImportFolder.run { folder in
                var zip = ZipBytes()
                make(&zip)
                try folder.write("export.zip", zip.file)
                let outcome = await Self.outcome(folder, folder.source + "/export.zip")
                #expect(outcome.contains(expected), "\(name): \(outcome)")
            }
        }
    }

    @Test("Reads or rejects a zip file or archive that is truncated or has a flipped bit")
    func damagedContainers() async throws {
        var random = SplitMix64(seed: 11)
        for name in ["parse.zip", "dump.archive.gz"] {
            let whole = try Array(Data(contentsOf: URL(fileURLWithPath: ImportFolder.samples + "/" + name)))
            for number in 0..<40 {
                var bytes = whole
                if number % 4 == 0 {
                    bytes = Array(bytes.prefix(Int.random(in: 4..<whole.count, using: &random)))
                } else {
                    bytes[Int.random(in: 4..<bytes.count, using: &random)] ^=
                        1 << UInt8.random(in: 0..<8, using: &random)
                }
                try await ImportFolder.run { folder in
                    try folder.write(name, bytes)
                    let outcome = await Self.outcome(folder, folder.source + "/" + name)
                    #expect(!outcome.isEmpty, "\(name) \(number)")
                }
            }
        }
    }

    @Test("Skips links and names that aren't UTF-8 with a note, and ignores pipes and folders named like files")
    func oddFolders() async throws {
        try await ImportFolder.run { folder in
            try folder.write("Song.json", Self.song)
            try folder.write("Empty.bson", [])
            try folder.write("None.json", [])
            try folder.write("prelude.json", "{\"ServerVersion\":\"7.0\"}")
            try folder.write("oplog.bson", [1, 2, 3])
            try folder.write("../secret.json", Self.song)
            let files = FileManager.default
            try files.createSymbolicLink(
                atPath: folder.source + "/Linked.json", withDestinationPath: folder.path + "/secret.json")
            try files.createSymbolicLink(atPath: folder.source + "/up", withDestinationPath: folder.path)
            try files.createDirectory(atPath: folder.source + "/Album.json", withIntermediateDirectories: false)
            #expect(mkfifo(folder.source + "/Pipe.json", 0o600) == 0)
            let name: [CChar] = Array((folder.source + "/").utf8CString.dropLast()) + [CChar(bitPattern: 0xFF), 0x2E]
            let descriptor = open(name + "json".utf8CString, O_CREAT | O_WRONLY, 0o600)
            #expect(descriptor >= 0)
            close(descriptor)
            let report = try await folder.look()
            #expect(report.classes.map { "\($0.name) \($0.rows)" } == ["Empty 0", "None 0", "Song 1"])
            #expect(report.notes.count == 3, "\(report.notes)")
            #expect(report.notes.contains { $0.hasPrefix("Linked.json is skipped: it is a symbolic link") })
            #expect(report.notes.contains { $0.hasPrefix("up is skipped: it is a symbolic link") })
            #expect(report.notes.contains { $0.hasSuffix("the file can't be opened by this name") })
        }
    }

    @Test("Imports classes and uploaded files that are named like mongodump's additional files")
    func namesOfNoCollections() async throws {
        try await ImportFolder.run { folder in
            try folder.write("parse/Song.bson", [])
            try folder.write("parse/oplog.bson", [])
            try folder.write("parse/oplog.metadata.json", "{\"indexes\":[],\"collectionName\":\"oplog\"}")
            try folder.write("oplog.bson", [1, 2, 3])
            try folder.write("prelude.json", "{\"ServerVersion\":\"7.0\"}")
            let report = try await folder.look()
            #expect(report.classes.map(\.name) == ["Song", "oplog"])
        }
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                try folder.write("roost-export.json", "{}")
                try folder.write("prelude.json", Self.song)
                try folder.write("files/prelude.json", "{}")
                try folder.write("files/oplog.bson", [1, 2, 3])
                let report = try await folder.load(into: server)
                #expect(report.classes.map { "\($0.name) \($0.rows)" } == ["prelude 1"])
                #expect(report.files == 2)
            }
        }
    }

    @Test("Damaged metadata ends the import with an error that names the file")
    func damagedMetadata() async throws {
        try await ImportFolder.run { folder in
            try folder.write("Song.bson", [])
            try folder.write("Song.metadata.json", "{\"indexes\":[")
            #expect(await Self.outcome(folder).hasPrefix("Song.metadata.json: it is damaged"))
        }
    }

    @Test("A class fails if its source changes while being read, and none of its objects appear")
    func changed() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                let line = "{\"objectId\":\"@\",\"title\":\"\(String(repeating: "x", count: 200))\"}\n"
                let text = (0..<40_000).map { line.replacing("@", with: "s\($0)") }.joined()
                try folder.write("Song.json", text)
                let done = StopFlag()
                async let writing: Void = {
                    // Simulates a mongoexport into the same folder.
                    while !done.isSet {
                        let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder.source + "/Song.json"))
                        try file.write(contentsOf: Data("{\"objectId\":\"t".utf8))
                        try file.close()
                        try await Task.sleep(for: .milliseconds(2))
                    }
                }()
                let report = try? await folder.load(into: server)
                done.set()
                try await writing
                let reason = report?.classes.first?.failure
                #expect(
                    reason?.contains("the file changed while being read") == true || report == nil, "\(reason ?? "-")")
                let shown = try? await server.table("Song")
                #expect(shown?.isEmpty ?? true)
            }
        }
    }

    @Test("Reports missing, unknown and ambiguous sources")
    func unclear() async throws {
        try await ImportFolder.run { folder in
            #expect(await Self.outcome(folder, folder.path + "/nowhere").contains("no such file or folder"))
            #expect(await Self.outcome(folder).contains("it contains no classes"))
            try folder.write("notes.txt", "x")
            #expect(await Self.outcome(folder, folder.source + "/notes.txt").contains("nor a Parse export"))
            try folder.write("one/Song.json", Self.song)
            try folder.write("admin/system.users.bson", [])
            #expect(await Self.outcome(folder) == "Song 1/1 ")
            try folder.write("two/Song.json", Self.song)
            #expect(await Self.outcome(folder).contains("several databases"))
            #expect(await Self.outcome(folder, folder.source + "/one/Song.json") == "Song 1/1 ")
        }
    }
}

/// Tells another task to stop.
private final class StopFlag: Sendable {
    private let state = Mutex(false)

    var isSet: Bool { state.withLock { $0 } }

    func set() { state.withLock { $0 = true } }
}
