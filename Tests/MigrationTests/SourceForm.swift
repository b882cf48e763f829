import Foundation
import Subprocess
import TestTools
import Testing

/// The forms of sources that `make_forms.py` makes.
enum SourceForm: String, CaseIterable, Sendable {
    case dump, packed, archive
    case packedArchive = "archive.gz"
    case canonical, relaxed, legacy
    case parse
    case zip = "parse.zip"

    /// Whether damage can be told by a checksum, wherever it is.
    var hasChecksum: Bool { [.packed, .archive, .packedArchive, .zip].contains(self) }

    /// Whether a file has an end that is missed when it is not there.
    var hasEnd: Bool { hasChecksum || [.relaxed, .parse].contains(self) }

    /// Whether texts are read as BSON, which may hold some that are not UTF-8.
    var isBSON: Bool { [.dump, .packed, .archive, .packedArchive].contains(self) }

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - what: `rows` with their number, or `hostile` with a case.
    ///   - folder: Where to put it.
    /// - Returns: Where it lies, and what else the script tells.
    func make(_ what: String, _ last: String, in folder: String) async throws -> (path: String, told: String) {
        let script = Checkout.path("Tests/MigrationTests/make_forms.py")
        let result = try await Subprocess.run(
            .name("python3"), arguments: [script, what, rawValue, folder, last],
            environment: .inherit.updating([
                "PYTHONPATH": Checkout.pythonLibraries, "PYTHONDONTWRITEBYTECODE": "1",
            ]), output: .string(limit: 4096), error: .string(limit: 4096))
        try #require(result.terminationStatus.isSuccess, "\(result.standardError)")
        let words = result.standardOutput.split(whereSeparator: \.isWhitespace).map(String.init)
        return (try #require(words.first), words.count > 1 ? words[1] : "")
    }
}
