import Foundation

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

/// The files below a folder.
enum FolderEntries {
    /// How deep below the folder files are looked for.
    private static let greatestDepth = 4
    private static let mostEntries = 5_000_000

    /// Lists them, in the order of their paths. Links are not followed out of the folder: they are left out.
    static func list(_ folder: String) throws -> [SourceEntry] {
        var entries: [SourceEntry] = []
        try list(folder, "", 0, &entries)
        return entries.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
    }

    private static func list(_ root: String, _ path: String, _ depth: Int, _ entries: inout [SourceEntry]) throws {
        let folder = path.isEmpty ? root : "\(root)/\(path)"
        for name in try FileManager.default.contentsOfDirectory(atPath: folder)
        where !name.hasPrefix(".") || name == ".metadata" {
            let inner = path.isEmpty ? name : "\(path)/\(name)"
            let full = "\(root)/\(inner)"
            let attributes = try FileManager.default.attributesOfItem(atPath: full)
            switch attributes[.type] as? FileAttributeType {
            case .typeDirectory where depth < greatestDepth: try list(root, inner, depth + 1, &entries)
            case .typeRegular:
                guard entries.count < mostEntries else { throw SourceDamage(place: root, reason: "too many files") }
                let size = (attributes[.size] as? NSNumber)?.int64Value ?? 0
                entries.append(SourceEntry(path: inner, size: size) { try FileBytes(full) })
            default: break
            }
        }
    }
}
