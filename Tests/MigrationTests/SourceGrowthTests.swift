import Foundation
import Migration
import Testing

/// Sources whose cost once grew with the square of their size.
@Suite struct SourceGrowthTests {
    /// More than any of these takes where the cost is linear, also beside many other tests on one processor; where it was
    /// not, each took longer than that alone.
    private static let bound = Duration.seconds(60)

    @Test("Entries of a zip file with long names cost as much as there are of them")
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
        "A long list costs as much as it is long, whatever its name, and whether its values can be kept",
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
}
