#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One file of a source: in a folder, in a zip file, or a collection in an archive of mongodump.
struct SourceEntry: Sendable {
    /// Its path in the source, with `/` between folders.
    let path: String
    /// How many bytes it takes where it lies, packed if it is.
    let size: Int64
    /// Opens it; what is packed by the container is unpacked.
    let open: @Sendable () throws -> any ByteSource

    /// The name without its folders.
    var name: String { path.split(separator: "/").last.map { String($0) } ?? path }

    /// The folder that it lies in; empty for the outermost.
    var folder: String { path.split(separator: "/").dropLast().joined(separator: "/") }

    /// The bytes, with gzip undone where the name says so.
    func unpacked() throws -> any ByteSource {
        let bytes = try open()
        return path.hasSuffix(".gz") ? try InflatedBytes(bytes, .gzip, of: path) : bytes
    }

    /// All bytes of a small entry.
    func contents(limit: Int = 64 * 1024 * 1024) throws -> [UInt8] { try unpacked().readAll(limit: limit, of: path) }
}

enum FolderEntries {
    /// Folder levels that are searched for files.
    private static let greatestDepth = 4
    private static let mostEntries = 5_000_000

    struct Listing {
        /// The files, in the order of their paths.
        var entries: [SourceEntry] = []
        /// What distinguishes the files from others, and from themselves once one was changed.
        var versions = ""
        /// Notes on those that are left out.
        var notes: [String] = []
    }

    /// Lists them. Links are not followed: they may lead anywhere.
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
            // One that went meanwhile, or whose name is not UTF-8.
            guard let type = try? FileManager.default.attributesOfItem(atPath: full)[.type] as? FileAttributeType else {
                listing.notes.append("\(inner) is skipped: no file can be reached by this name")
                continue
            }
            switch type {
            case .typeDirectory where depth < greatestDepth: try list(root, inner, depth + 1, &listing)
            case .typeRegular:
                guard listing.entries.count < mostEntries else {
                    throw SourceDamage(place: root, reason: "too many files")
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
