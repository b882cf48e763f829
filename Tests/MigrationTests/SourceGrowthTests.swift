import Foundation
import Migration
import Testing

/// Sources whose cost once grew with the square of their size.
@Suite struct SourceGrowthTests {
    /// More than any of these may take, where the cost is linear; where it was not, each took much longer.
    private static let bound = Duration.seconds(10)

    @Test("Entries of a zip file with long names cost as much as there are of them")
    func longNames() async throws {
        try await ImportFolder.run { folder in
            let count = 2500
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
}
