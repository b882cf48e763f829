import Encoding
import Platform

/// Detects the format of a source and lists its files.
enum SourceOpener {
    struct Opened: Sendable {
        /// The files of the source. For a zip file or an archive, those inside it.
        var entries: [SourceEntry]
        /// The identifier of the source and its current state.
        var fingerprint: String
        /// Notes on skipped files.
        var notes: [String] = []
        /// The path of the unpacked archive, or nil if the source wasn't unpacked.
        var unpacked: String?

        /// Deletes the unpacked archive, which contains all of the source's data.
        func removeUnpacked() {
            if let unpacked { try? FileManager.default.removeItem(atPath: unpacked) }
        }
    }

    /// Lists the files of a folder, a zip file, a mongodump archive or a single file.
    ///
    /// - Parameter scratch: A folder for archives that must be unpacked first.
    /// - Throws: ``SourceDamage`` if the source is missing, damaged or of another format, or the error of unpacking it.
    static func open(_ path: String, scratch: String) throws -> Opened {
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        guard let isFolder = FilePaths.isFolder(path) else {
            throw SourceDamage(place: path, reason: "no such file or folder")
        }
        if isFolder {
            let listing = try FolderEntries.list(path)
            return Opened(
                entries: listing.entries, fingerprint: SourceFingerprint.of(listing.versions), notes: listing.notes)
        }
        let version = try FileVersion(of: path)
        let fingerprint = SourceFingerprint.of("\(path)\u{0}\(version)\u{0}")
        let name = FilePaths.name(of: path)
        let start = try FileBytes(path).read(4)
        if start == ZipEntries.magic {
            return Opened(entries: try ZipEntries.list(path), fingerprint: fingerprint)
        }
        if start == ArchiveEntries.magic {
            return Opened(entries: try ArchiveEntries.list(path), fingerprint: fingerprint)
        }
        let isGzip = start.starts(with: [0x1F, 0x8B])
        if isGzip, try InflatedBytes(FileBytes(path), .gzip, of: path).read(4) == ArchiveEntries.magic {
            let unpacked = try unpack(path, to: "\(scratch)/archive-\(fingerprint)")
            return Opened(entries: try ArchiveEntries.list(unpacked), fingerprint: fingerprint, unpacked: unpacked)
        }
        guard let suffix = SourceCatalog.dataSuffixes.first(where: { name.hasSuffix($0) }) else {
            throw SourceDamage(
                place: path, reason: "neither a MongoDB dump nor a Parse export")
        }
        // The suffix makes the entry decompress the file.
        let packed = isGzip && !suffix.hasSuffix(".gz") ? ".gz" : ""
        let entry = SourceEntry(path: name + packed, size: version.size) {
            try FileBytes(path, unchangedSince: version)
        }
        return Opened(entries: [entry], fingerprint: fingerprint)
    }

    /// Unpacks a file once, because packed files have no random access.
    private static func unpack(_ path: String, to target: String) throws -> String {
        if FileManager.default.fileExists(atPath: target) { return target }
        try PrivateFile.createFolder(FilePaths.folder(of: target))
        let unfinished = target + ".part"
        do {
            let file = try PrivateFile.create(unfinished)
            defer { try? file.close() }
            let bytes = try InflatedBytes(FileBytes(path), .gzip, of: path)
            while true {
                let piece = try bytes.read(1 << 20)
                if piece.isEmpty { break }
                try PrivateFile.write(piece, to: file, unfinished)
            }
            try file.synchronize()
        } catch {
            // The partial file may have filled the disk.
            try? FileManager.default.removeItem(atPath: unfinished)
            throw error
        }
        try FileManager.default.moveItem(atPath: unfinished, toPath: target)
        return target
    }
}

/// A short identifier for a long text.
package enum SourceFingerprint {
    /// Returns the same identifier for the same text in every process.
    package static func of(_ text: String) -> String {
        String(StableHash.of(text), radix: 16) + String(StableHash.of("again:" + text), radix: 16)
    }
}
