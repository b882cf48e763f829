import Crypto
import Encoding
import JSON

/// The checksums of an export's files, listed in `SHA256SUMS` in the format of `sha256sum`.
struct SourceChecksums: Sendable {
    static let file = "SHA256SUMS"

    private let files: [(entry: SourceEntry, sum: String)]

    /// Reads the list of an export, or returns nil if it has none.
    ///
    /// - Throws: ``SourceDamage`` if the list can't be read or is malformed, or if one of its files is missing.
    init?(of entries: [SourceEntry]) throws {
        guard let manifest = SourceCatalog.manifest(of: entries) else { return nil }
        let prefix = manifest.folder.isEmpty ? "" : manifest.folder + "/"
        guard let list = entries.first(where: { $0.path == prefix + Self.file }) else { return nil }
        var known: [Name: SourceEntry] = [:]
        for entry in entries { known[Name(entry.path)] = entry }
        guard let text = String(validating: try list.contents(limit: 1 << 30), as: UTF8.self) else {
            throw SourceDamage(place: list.path, reason: "it is damaged: it is not valid UTF-8")
        }
        files = try text.split(separator: "\n").map { line in
            let sum = line.prefix(64).lowercased()
            let name = line.dropFirst(66)
            guard sum.utf8.count == 64, sum.allSatisfy(\.isHexDigit), !name.isEmpty else {
                throw SourceDamage(place: list.path, reason: "it is damaged: a line is not a file checksum")
            }
            guard let entry = known[Name(prefix + name)] else {
                throw SourceDamage(place: prefix + name, reason: "it is missing: \(Self.file) lists it")
            }
            return (entry, sum)
        }
    }

    /// Verifies all listed files. Throws ``SourceDamage`` for the first file with another checksum.
    func check(_ progress: ImportProgress) throws {
        progress.begin("comparing file checksums", totalBytes: files.reduce(0) { $0 + $1.entry.size })
        for (entry, expected) in files {
            let bytes = try entry.open()
            var hash = SHA256()
            while true {
                try progress.check()
                let piece = try bytes.read(1 << 20)
                if piece.isEmpty { break }
                hash.update(data: piece)
                progress.add(bytes: Int64(piece.count), documents: 0)
            }
            let sum = hash.finalize().hexadecimal
            guard sum == expected else {
                throw SourceDamage(
                    place: entry.path,
                    reason: "it is damaged, or was changed: its checksum differs from \(Self.file). "
                        + "To import what you changed on purpose, remove \(Self.file)")
            }
        }
    }
}
