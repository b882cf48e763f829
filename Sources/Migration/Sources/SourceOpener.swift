import Foundation

/// Finds out what a source is, and lists what is in it.
enum SourceOpener {
    /// The files of a source.
    struct Opened {
        /// The files, those of a container included.
        var entries: [SourceEntry]
        /// What tells this source from others, and from itself once it has changed.
        var fingerprint: String
    }

    /// Lists the files of a folder, a zip file, an archive of mongodump, or a single file.
    ///
    /// - Parameters:
    ///   - path: Where the source is.
    ///   - scratch: A folder for what must be unpacked before it can be read.
    /// - Throws: ``SourceDamage`` for what is none of these.
    static func open(_ path: String, scratch: String) throws -> Opened {
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw SourceDamage(place: path, reason: "there is no such file or folder")
        }
        if isFolder.boolValue {
            let entries = try FolderEntries.list(path)
            return Opened(entries: entries, fingerprint: try fingerprint(entries.map { "\(path)/\($0.path)" }))
        }
        let fingerprint = try fingerprint([path])
        return Opened(entries: try entries(ofFile: path, scratch, fingerprint), fingerprint: fingerprint)
    }

    private static func entries(ofFile path: String, _ scratch: String, _ fingerprint: String) throws -> [SourceEntry] {
        let size = try self.size(path)
        let name = (path as NSString).lastPathComponent
        let start = try FileBytes(path).read(4)
        if start == ZipEntries.magic { return try ZipEntries.list(path, size: size) }
        if start == ArchiveEntries.magic { return try ArchiveEntries.list(path) }
        let isGzip = start.starts(with: [0x1F, 0x8B])
        if isGzip, try InflatedBytes(FileBytes(path), .gzip, of: path).read(4) == ArchiveEntries.magic {
            return try ArchiveEntries.list(try unpack(path, to: "\(scratch)/archive-\(fingerprint)"))
        }
        guard let suffix = SourceCatalog.dataSuffixes.first(where: { name.hasSuffix($0) }) else {
            throw SourceDamage(
                place: path, reason: "neither a dump of MongoDB nor an export of Parse: nothing that can be imported")
        }
        // A gzip file is unpacked by its name.
        let packed = isGzip && !suffix.hasSuffix(".gz") ? ".gz" : ""
        return [SourceEntry(path: name + packed, size: size) { try FileBytes(path) }]
    }

    /// Unpacks a file into another one, once: parts of what is packed cannot be looked up.
    private static func unpack(_ path: String, to target: String) throws -> String {
        if FileManager.default.fileExists(atPath: target) { return target }
        try FileManager.default.createDirectory(
            atPath: (target as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let unfinished = target + ".part"
        guard FileManager.default.createFile(atPath: unfinished, contents: nil, attributes: [.posixPermissions: 0o600]),
            let file = FileHandle(forWritingAtPath: unfinished)
        else { throw SourceDamage(place: unfinished, reason: "it cannot be written") }
        defer { try? file.close() }
        let bytes = try InflatedBytes(FileBytes(path), .gzip, of: path)
        while true {
            let piece = try bytes.read(1 << 20)
            if piece.isEmpty { break }
            try file.write(contentsOf: piece)
        }
        try FileManager.default.moveItem(atPath: unfinished, toPath: target)
        return target
    }

    private static func size(_ path: String) throws -> Int64 {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.size] as? NSNumber)?.int64Value ?? 0
    }

    /// A hash of names, sizes and times of change.
    private static func fingerprint(_ paths: [String]) throws -> String {
        var text = ""
        for path in paths {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            let changed = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
            text += "\(path)\u{0}\((attributes[.size] as? NSNumber)?.int64Value ?? 0)\u{0}\(changed)\u{0}"
        }
        return SourceFingerprint.of(text)
    }
}
