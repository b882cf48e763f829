import Foundation
import Subprocess
import TestTools
import Testing

/// The source formats that `make_forms.py` creates.
enum SourceForm: String, CaseIterable, Sendable {
    case dump, packed, archive
    case packedArchive = "archive.gz"
    case canonical, relaxed, legacy
    case parse
    case zip = "parse.zip"

    /// Whether a checksum detects damage anywhere.
    var hasChecksum: Bool { [.packed, .archive, .packedArchive, .zip].contains(self) }

    /// Whether truncation of a file is detected.
    var hasEnd: Bool { hasChecksum || [.relaxed, .parse].contains(self) }

    /// Whether texts are BSON, and thus may be invalid UTF-8.
    var isBSON: Bool { [.dump, .packed, .archive, .packedArchive].contains(self) }

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - what: `rows` with their number, or `hostile` with a case.
    /// - Returns: The path of the source, and the script's further output.
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
