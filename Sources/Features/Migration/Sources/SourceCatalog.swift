import BSON
import Encoding
import JSON

/// The contents of a source: collections, class schemas and files.
struct SourceCatalog: Sendable {
    /// File name suffixes of collections.
    static let dataSuffixes = [".bson.gz", ".bson", ".json.gz", ".json"]
    static let metadataSuffixes = [".metadata.json.gz", ".metadata.json"]
    /// The name of the manifest in Roost's exports.
    static let manifest = "roost-export.json"
    /// A length in bytes up to which mongodump never shortens the file name of a collection.
    private static let longestStem = 200

    /// The objects of one class, or the pairs of one relation.
    struct Collection: Sendable {
        /// The class, or `_Join:field:Class`.
        let name: Name
        let entry: SourceEntry

        /// The stored size in bytes, compressed if the file is.
        var size: Int64 { entry.size }

        /// Opens the collection at its first object.
        func open() throws -> any RecordReader {
            let reader = ByteReader(try entry.unpacked(), of: entry.path)
            let isBSON = entry.path.hasSuffix(".bson") || entry.path.hasSuffix(".bson.gz")
            return isBSON ? BSONRecordReader(reader) : JSONRecordReader(reader)
        }
    }

    private(set) var collections: [Collection] = []
    /// The classes according to `_SCHEMA`.
    private(set) var schema = SourceSchema()
    /// Uploaded files, with paths relative to the `files` folder.
    private(set) var files: [SourceEntry] = []
    /// Details that clients provided for uploaded files, keyed by the same paths.
    private(set) var fileDetails: [Name: SourceEntry] = [:]
    private(set) var gridFiles: Collection?
    private(set) var gridChunks: Collection?
    private(set) var notes: [String]

    /// Returns whether a collection is neither a class nor a relation to import.
    private static func isLeftOut(_ name: Name) -> Bool {
        name.hasPrefix("system.") || name == "_Idempotency" || name.hasPrefix("fs.") || name == "_SCHEMA"
    }

    /// Reads the metadata, the schema and the list of collections and files.
    ///
    /// - Parameter notes: Notes on files that were skipped while listing.
    /// - Throws: ``SourceDamage`` if they can't be read or the source is ambiguous.
    init(_ entries: [SourceEntry], notes: [String]) throws {
        self.notes = notes
        let entries = Self.collectionsAndFiles(entries)
        let folder = try Self.folder(of: entries)
        let prefix = folder.isEmpty ? "" : folder + "/"
        var metadata: [(Name, JSONValue)] = []
        // The collection name in each metadata file, by the stem of the file's name.
        var wholeNames: [Name: Name] = [:]
        var found: [Name: SourceEntry] = [:]
        for entry in entries where entry.folder == folder && entry.name != Self.manifest {
            if let suffix = Self.metadataSuffixes.first(where: { entry.name.hasSuffix($0) }) {
                let json = try Self.metadata(entry)
                let stem = entry.name.dropLast(suffix.count)
                let whole = json["collectionName"]?.nameValue
                if let whole { wholeNames[Name(stem)] = whole }
                metadata.append((whole ?? Name(PathName.decode(String(stem))), json))
            }
        }
        for entry in entries where entry.folder == folder && entry.name != Self.manifest {
            guard !Self.metadataSuffixes.contains(where: { entry.name.hasSuffix($0) }),
                let suffix = Self.dataSuffixes.first(where: { entry.name.hasSuffix($0) })
            else { continue }
            let stem = entry.name.dropLast(suffix.count)
            // mongodump shortens long file names. The metadata contains the full name.
            let whole = stem.utf8.count > Self.longestStem ? wholeNames[Name(stem)] : nil
            let name = whole ?? Name(PathName.decode(String(stem)))
            guard found[name] == nil else {
                throw SourceDamage(place: entry.path, reason: "\(name) appears twice")
            }
            found[name] = entry
        }
        if let entry = found["_SCHEMA"] { schema = try SourceSchema(Collection(name: "_SCHEMA", entry: entry)) }
        for (name, json) in metadata { self.notes += schema.addIndexes(json, of: name) }
        gridFiles = found["fs.files"].map { Collection(name: "fs.files", entry: $0) }
        gridChunks = found["fs.chunks"].map { Collection(name: "fs.chunks", entry: $0) }
        collections = found.filter { !Self.isLeftOut($0.key) }.map { Collection(name: $0.key, entry: $0.value) }
            .sorted { $0.name < $1.name }
        for entry in entries {
            guard let path = entry.path.dropping(prefix: prefix + "files/") else { continue }
            let file = SourceEntry(path: path, size: entry.size, open: entry.open)
            if let described = path.dropping(prefix: ".metadata/") {
                fileDetails[Name(described)] = file
            } else if !path.contains("/") {
                files.append(file)
            }
        }
    }

    /// Skips files that mongodump adds to the collections: the server versions and the oplog. Files of these names are
    /// kept if they are a collection with metadata, a class of a Roost export or an uploaded file.
    private static func collectionsAndFiles(_ entries: [SourceEntry]) -> [SourceEntry] {
        func mayBeDumpFile(_ name: String) -> Bool {
            ["prelude.json", "oplog.bson"].contains { name == $0 || name == $0 + ".gz" }
        }
        guard entries.contains(where: { mayBeDumpFile($0.name) }), manifest(of: entries) == nil else { return entries }
        let described = Set(entries.lazy.filter { $0.name.hasPrefix("oplog.metadata.json") }.map(\.folder))
        return entries.filter { entry in
            !mayBeDumpFile(entry.name) || entry.folder.split(separator: "/").contains("files")
                || entry.name.hasPrefix("oplog.") && described.contains(entry.folder)
        }
    }

    private static func metadata(_ entry: SourceEntry) throws -> JSONValue {
        do {
            return try JSONValue(parsing: try entry.contents())
        } catch let damage as SourceDamage {
            throw damage
        } catch {
            throw SourceDamage(place: entry.path, reason: "it is damaged: \(error)")
        }
    }

    /// Returns the manifest of an export, or nil if the source has none. Ignores uploaded files with this name.
    static func manifest(of entries: [SourceEntry]) -> SourceEntry? {
        entries.filter { $0.name == manifest && !$0.folder.split(separator: "/").contains("files") }
            .min { $0.folder.utf8.count < $1.folder.utf8.count }
    }

    private static func folder(of entries: [SourceEntry]) throws -> String {
        if let manifest = manifest(of: entries) { return manifest.folder }
        var folders: Set<String> = []
        for entry in entries where dataSuffixes.contains(where: { entry.name.hasSuffix($0) }) {
            // Uploaded files may have any name.
            let parts = entry.folder.split(separator: "/")
            if !parts.contains("files") { folders.insert(entry.folder) }
        }
        // A dump of a whole server also contains MongoDB's own databases.
        if folders.count > 1 {
            folders = folders.filter { !["admin", "config", "local"].contains(FilePaths.name(of: $0)) }
        }
        guard folders.count <= 1 else {
            throw SourceDamage(
                place: "the source",
                reason: "it contains several databases. Choose the folder of one of them: "
                    + folders.sorted().joined(separator: ", "))
        }
        guard let folder = folders.first else {
            throw SourceDamage(place: "the source", reason: "it contains no classes")
        }
        return folder
    }
}
