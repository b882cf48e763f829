import Foundation
import JSON
import Migration
import TestSupport
import TestTools
import Testing

/// The same attacks in every source format.
@Suite struct HostileFormTests {
    /// Creates a malicious source, inspects it, and returns the numbers of objects and rows, and the rejects.
    private static func look(_ form: SourceForm, _ harm: String) async throws -> (
        objects: Int64, rows: Int64, told: [JSONValue]
    ) {
        try await ImportFolder.run { folder in
            let (source, _) = try await form.make("hostile", harm, in: folder.source)
            let report = try await folder.look(source)
            #expect(report.notes.isEmpty, "\(report.notes)")
            let song = try #require(report.classes.first)
            #expect(song.name == "Song" && song.failure == nil, "\(song)")
            return (song.documents, song.rows, try folder.rejects())
        }
    }

    @Test("Accepts objects nested 100 levels deep", arguments: SourceForm.allCases)
    func deep(form: SourceForm) async throws {
        let (objects, rows, told) = try await Self.look(form, "deep")
        #expect(objects == 2 && rows == 2 && told.isEmpty, "\(told)")
    }

    @Test("Reports a string that isn't UTF-8, and keeps all other objects", arguments: SourceForm.allCases)
    func text(form: SourceForm) async throws {
        let (objects, rows, told) = try await Self.look(form, "text")
        #expect(objects == 3 && told.count == 1, "\(told)")
        // BSON has explicit text lengths, so the object is imported without the invalid text.
        #expect(rows == (form.isBSON ? 3 : 2))
        let line = try #require(told.first)
        #expect(line["field"] == (form.isBSON ? "s" : .null))
        #expect(line["reason"]?.stringValue?.contains("UTF-8") == true, "\(line.text)")
    }

    @Test(
        "Keeps the first of several objects with the same id, and distinguishes look-alike keys",
        arguments: SourceForm.allCases
    )
    func loaded(form: SourceForm) async throws {
        try await TestServer.withDatabase { uri in
            let server = TestServer(url: "", databaseURI: uri)
            try await ImportFolder.run { folder in
                let (source, _) = try await form.make("hostile", "duplicates", in: folder.source)
                let report = try await folder.load(source, into: server)
                #expect(report.isComplete && report.classes.first?.rows == 2, "\(report.json.text)")
                let told = try folder.rejects()
                #expect(told.map { $0["id"] } == ["m00000000", "m00000000"])
                #expect(told.allSatisfy { $0["reason"]?.stringValue?.contains("duplicate id") == true })
                #expect(try await server.row("Song", "m00000000")["s"] == "first")
            }
            try await ImportFolder.run { folder in
                let (source, _) = try await form.make("hostile", "names", in: folder.source)
                let report = try await folder.load(source, into: server) { $0.replaces = ["Song"] }
                // Look-alike class names are distinguished, too, and neither of these is a valid name.
                #expect(report.exitCode == 2 && report.rejectCount == 0, "\(report.json.text)")
                #expect(report.notes.filter { $0.hasSuffix("its name is not a valid class name") }.count == 2)
                #expect(report.classes.map { "\($0.name) \($0.rows)" } == ["Song 2", "song 1"])
                let names = try await server.row("Song", "m00000000")["o"]?.objectValue ?? [:]
                #expect(names.count == 4, "\(names.text)")
                #expect(names["X"] == 2 && names["caf\u{E9}"] == 3 && names["cafe\u{301}"] == 4)
            }
        }
    }

    @Test(
        "Reads or rejects a source that is truncated or has a flipped bit; checksums detect all damage",
        arguments: SourceForm.allCases)
    func damaged(form: SourceForm) async throws {
        try await ImportFolder.run { folder in
            let (source, _) = try await form.make("hostile", "names", in: folder.source)
            var isFolder: ObjCBool = false
            #expect(FileManager.default.fileExists(atPath: source, isDirectory: &isFolder))
            let suffix = form == .packed ? ".bson.gz" : form == .dump ? ".bson" : ".json"
            let path = isFolder.boolValue ? "\(source)/Song\(suffix)" : source
            let whole = try Array(Data(contentsOf: URL(fileURLWithPath: path)))
            let figures = try await folder.look(source).json.text
            var random = SplitMix64(seed: 24)
            for number in 0..<24 {
                var bytes = whole
                let isCut = number % 3 == 0
                if isCut {
                    bytes = Array(bytes.prefix(Int.random(in: 4..<whole.count, using: &random)))
                } else {
                    bytes[Int.random(in: 4..<whole.count, using: &random)] ^=
                        1 << UInt8.random(in: 0..<8, using: &random)
                }
                try Data(bytes).write(to: URL(fileURLWithPath: path))
                var outcome: ImportReport?
                do {
                    outcome = try await folder.look(source)
                } catch {
                    // The error names the file.
                    #expect("\(error)".contains(isFolder.boolValue ? "Song" : "/"), "\(number): \(error)")
                }
                guard let outcome, outcome.isComplete else { continue }
                // Files of lines or documents may end after any of them.
                #expect(!isCut || !form.hasEnd, "\(number): the end is not missed")
                if form.hasChecksum { #expect(outcome.json.text == figures, "\(number): damage is not seen") }
            }
        }
    }
}
