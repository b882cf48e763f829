import Platform

/// A file of a source: a single file, one in a folder or zip file, or one of a collection in a mongodump archive.
struct SourceEntry: Sendable {
    /// The path in the source, with `/` between folders.
    let path: String
    /// The stored size in bytes, compressed if the file is.
    let size: Int64
    /// Opens the file. Its bytes are decompressed if the container compressed it.
    let open: @Sendable () throws -> any ByteSource

    /// The file name without folders.
    var name: String { path.split(separator: "/").last.map { String($0) } ?? path }

    /// The folder of the file, or empty for the top level.
    var folder: String { path.split(separator: "/").dropLast().joined(separator: "/") }

    /// Opens the file, decompressed if its name ends with `.gz`.
    func unpacked() throws -> any ByteSource {
        let bytes = try open()
        return path.hasSuffix(".gz") ? try InflatedBytes(bytes, .gzip, of: path) : bytes
    }

    /// Reads a small file completely.
    func contents(limit: Int = 64 * 1024 * 1024) throws -> [UInt8] { try unpacked().readAll(limit: limit, of: path) }
}

enum FolderEntries {
    private static let greatestDepth = 4
    private static let maxEntries = 5_000_000

    struct Listing {
        /// The files, sorted by path.
        var entries: [SourceEntry] = []
        /// The paths and versions of the files, which identify the source and its state.
        var versions = ""
        /// Notes on skipped files.
        var notes: [String] = []
    }

    /// Lists files in and below a folder. Skips hidden names except `.metadata`, and links, which may lead anywhere.
    static func list(_ folder: String) throws -> Listing {
        var listing = Listing()
        try list(folder, "", 0, &listing)
        return listing
    }

    private static func list(_ root: String, _ path: String, _ depth: Int, _ listing: inout Listing) throws {
        let folder = path.isEmpty ? root : "\(root)/\(path)"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        for name in names.names.sorted().texts where !name.hasPrefix(".") || name == ".metadata" {
            let inner = path.isEmpty ? name : "\(path)/\(name)"
            let full = "\(root)/\(inner)"
            // The file was deleted meanwhile, or its name isn't UTF-8.
            guard let type = try? FileManager.default.attributesOfItem(atPath: full)[.type] as? FileAttributeType else {
                listing.notes.append("\(inner) is skipped: the file can't be opened by this name")
                continue
            }
            switch type {
            case .typeDirectory where depth < greatestDepth: try list(root, inner, depth + 1, &listing)
            case .typeRegular:
                guard listing.entries.count < maxEntries else {
                    throw SourceDamage(place: root, reason: "it contains more than \(maxEntries) files")
                }
                let version = try FileVersion(of: full)
                listing.entries.append(
                    SourceEntry(path: inner, size: version.size) { try FileBytes(full, unchangedSince: version) })
                listing.versions += "\(full)\u{0}\(version)\u{0}"
            case .typeSymbolicLink:
                listing.notes.append("\(inner) is skipped: it is a symbolic link")
            default: break
            }
        }
    }
}
