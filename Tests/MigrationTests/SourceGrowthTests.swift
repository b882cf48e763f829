import Foundation
import Migration
import Testing

/// Sources whose cost grew quadratically.
@Suite struct SourceGrowthTests {
    /// An upper bound for linear cost, even among many tests on one CPU. Before the fixes, each source took longer by
    /// itself.
    private static let bound = Duration.seconds(60)

    @Test("Reading zip entries with long names takes linear time")
    func longNames() async throws {
        try await ImportFolder.run { folder in
            let count = 5000
            let name = String(repeating: "x", count: 205)
            var zip = ZipBytes()
            for number in 0..<count { zip.add("\(name)\(number).json", Array("[]".utf8), deflated: false) }
            try folder.write("many.zip", zip.file)
            let began = ContinuousClock.now
            let report = try await folder.look(folder.source + "/many.zip")
            #expect(ContinuousClock.now - began < Self.bound)
            #expect(report.classes.isEmpty && report.notes.count == count)
        }
    }

    @Test(
        "Reading a long list takes linear time, even with a long key or invalid values",
        arguments: [("1", 0), (#"{"$numberDouble":"NaN"}"#, 1001)])
    func longList(element: String, rejects: Int) async throws {
        try await ImportFolder.run { folder in
            let key = String(repeating: "k", count: 1 << 21)
            let list = Array(repeating: element, count: 400_000).joined(separator: ",")
            try folder.write("Song.json", "{\"_id\":\"s1\",\"o\":{\"\(key)\":[\(list)]}}")
            let began = ContinuousClock.now
            let report = try await folder.look()
            #expect(ContinuousClock.now - began < Self.bound)
            #expect(report.classes.map { "\($0.name) \($0.rows) \($0.rejects)" } == ["Song 1 \(rejects)"])
        }
    }

    @Test("Reading the parts of an archive takes linear time")
    func manyParts() async throws {
        try await ImportFolder.run { folder in
            let name = Self.text("db", "p") + Self.text("collection", "Song")
            let terminator = [UInt8](repeating: 0xFF, count: 4)
            var archive: [UInt8] = [0x6D, 0xE2, 0x99, 0x81] + Self.document([]) + Self.document(name) + terminator
            let part = Self.document(name + Self.flag("EOF", false)) + terminator
            for _ in 0..<400_000 { archive += part }
            archive += Self.document(name + Self.flag("EOF", true)) + terminator
            try folder.write("dump.archive", archive)
            let began = ContinuousClock.now
            let report = try await folder.look(folder.source + "/dump.archive")
            #expect(ContinuousClock.now - began < Self.bound)
            #expect(report.classes.map { "\($0.name) \($0.rows)" } == ["Song 0"])
        }
    }

    private static func document(_ members: [UInt8]) -> [UInt8] { int32(members.count + 5) + members + [0] }

    private static func text(_ key: String, _ text: String) -> [UInt8] {
        [0x02] + key.utf8 + [0] + int32(text.utf8.count + 1) + text.utf8 + [0]
    }

    private static func flag(_ key: String, _ isSet: Bool) -> [UInt8] { [0x08] + key.utf8 + [0, isSet ? 1 : 0] }

    private static func int32(_ value: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
}
