import Encoding
import JSON
import NIOCore
import Outgoing
import Platform

/// Downloads the uploaded files that objects name.
///
/// The old server created the addresses in File fields. Other values that look like files may have been saved by
/// clients in objects or arrays, and could name any address for any file. They count only if no File field names the
/// file, and if the address is on the old server or has the same prefix as an address in a File field.
struct LiveFiles {
    let server: LiveServer
    let folder: String
    private var addressesOfFields: [Name: String] = [:]
    private var otherAddresses: [Name: String] = [:]
    /// Address prefixes of files in File fields: the old server's URL or its file storage.
    private var bases: Set<Name> = []
    /// Addresses that are not the old server's, by the name of the file. They come from values other than File fields.
    private var strays: [Name: Set<Name>] = [:]
    private var strayCount = 0
    private var hasMoreStrays = false

    /// The maximum length of a file name in bytes, as limited by file systems.
    private static let longestName = 255
    /// The maximum number of recorded addresses that are not the old server's, so that objects can't fill the memory.
    private static let maxStrays = 10_000
    private static let maxBases = 100
    private static let longestAddress = 2048
    /// The maximum number of files without a usable address that are reported one by one.
    private static let maxNotes = 100

    init(server: LiveServer, folder: String) {
        self.server = server
        self.folder = folder
    }

    /// Records the files that an object names. The first address of a file wins.
    ///
    /// - Parameter fileFields: The File fields of the object's class.
    mutating func collect(_ object: JSONObject, fileFields: Set<Name>) {
        for (field, value) in object {
            if fileFields.contains(field), let (name, url) = Self.file(value) {
                if addressesOfFields[name] == nil { addressesOfFields[name] = url }
                if bases.count < Self.maxBases, let base = Self.base(of: url, name) { bases.insert(base) }
            } else {
                collect(value)
            }
        }
    }

    mutating func collect(objectsIn path: String, fileFields: Set<Name>) throws {
        let reader = try LiveFile.reader(path)
        while let record = try reader.next() {
            if case .rest(let object) = record { collect(object, fileFields: fileFields) }
        }
    }

    private mutating func collect(_ value: JSONValue) {
        if let (name, url) = Self.file(value) { return collect(name, savedWith: url) }
        switch value {
        case .array(let list): for element in list { collect(element) }
        case .object(let object): for member in object.values { collect(member) }
        default: break
        }
    }

    private mutating func collect(_ name: Name, savedWith url: String) {
        guard !isOwn(url, of: name) else {
            if otherAddresses[name] == nil { otherAddresses[name] = url }
            return
        }
        if strays[name]?.contains(Name(url)) == true { return }
        guard strayCount < Self.maxStrays, name.utf8.count <= Self.longestName, url.utf8.count <= Self.longestAddress
        else {
            hasMoreStrays = true
            return
        }
        strays[name, default: []].insert(Name(url))
        strayCount += 1
    }

    /// Returns the address before the file's name, or nil if the address doesn't end with the name.
    private static func base(of url: String, _ name: Name) -> Name? {
        // A file name with slashes could stand for any file with the same prefix.
        guard !name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }),
            let slash = url.utf8.lastIndex(of: UInt8(ascii: "/"))
        else { return nil }
        let end = url.utf8.index(after: slash)
        guard let last = PercentEncoding.decode(url[end...]), Name(last) == name else { return nil }
        return Name(url[..<end])
    }

    /// Each file's address: from a File field, else on the old server, else with a prefix in ``bases``.
    private var addresses: [Name: String] {
        var addresses = otherAddresses.merging(addressesOfFields) { _, ofField in ofField }
        for (name, urls) in strays where addresses[name] == nil {
            addresses[name] = urls.map(\.text).sorted().first { Self.base(of: $0, name).map(bases.contains) ?? false }
        }
        return addresses
    }

    /// Returns whether this file's address is on the old server: `…/files/<application>/<name>`.
    private func isOwn(_ url: String, of name: Name) -> Bool {
        guard let rest = url.dropping(prefix: "\(server.address.url)/files/"),
            !rest.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }),
            let path = PercentEncoding.decode(rest), let slash = path.utf8.firstIndex(of: UInt8(ascii: "/"))
        else { return false }
        // A path with `..` could lead anywhere on the server.
        let steps = path.utf8.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        let leadsUp = steps.contains { $0.elementsEqual("..".utf8) }
        return !leadsUp && path.utf8[slash...].dropFirst().elementsEqual(name.utf8)
    }

    private static func file(_ value: JSONValue) -> (name: Name, url: String)? {
        guard value["__type"] == "File", let name = value["name"]?.nameValue, let url = value["url"]?.stringValue,
            url.hasPrefix("http://") || url.hasPrefix("https://")
        else { return nil }
        return (name, url)
    }

    /// Downloads files that don't exist yet. Returns notes on those that were skipped.
    func fetch(_ progress: ImportProgress) async throws -> [String] {
        var notes: [String] = []
        let addresses = addresses
        for (name, url) in addresses.sorted(by: { $0.key < $1.key }) {
            try progress.check()
            progress.begin("fetching the file \(name)", totalBytes: 0)
            let entry = PercentEncoding.encode(name.text)
            guard !entry.isEmpty, !entry.hasPrefix("."), entry.utf8.count <= Self.longestName else {
                notes.append("the file \(name) is skipped: the file name is not allowed")
                continue
            }
            let path = "\(folder)/\(entry)"
            guard !FileManager.default.fileExists(atPath: path) else { continue }
            do {
                let status = try await fetch(url, to: path)
                guard status != 200 else { continue }
                notes.append("the file \(name) is skipped: \(url) responded with \(status)")
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                notes.append("the file \(name) is skipped: \(url): \(error)")
            }
        }
        return notes + strayNotes(addresses)
    }

    private func strayNotes(_ addresses: [Name: String]) -> [String] {
        let left = strays.keys.filter { addresses[$0] == nil }.sorted()
        var notes = left.prefix(Self.maxNotes).map { name in
            "the file \(name.text.debugDescription) is skipped: no File field references it, and its address in other "
                + "values is not the old server's"
        }
        if left.count > notes.count || hasMoreStrays {
            notes.append("more files may be skipped: their addresses are not the old server's")
        }
        return notes
    }

    private func fetch(_ url: String, to path: String) async throws -> Int {
        let unfinished = folder + "/.unfinished"
        let file = try PrivateFile.create(unfinished)
        defer { try? file.close() }
        let status = try await server.caller.download(HTTPCall("GET", url)) { piece in
            try file.write(piece.readableBytesView)
        }
        if (200...299).contains(status) {
            try FileManager.default.moveItem(atPath: unfinished, toPath: path)
            return 200
        }
        return status
    }
}

/// A file of the export. It gets its final name when it is complete.
struct LiveFile {
    private let path: String
    private let file: OpenFile
    private var buffer = Array("{\"results\":[".utf8)
    private var isFirst = true

    init(_ path: String) throws {
        self.path = path
        file = try PrivateFile.create(path + ".part")
    }

    mutating func add(_ object: JSONObject) throws {
        buffer += Array((isFirst ? "\n" : ",\n").utf8) + object.serialized()
        isFirst = false
        if buffer.count > 256 * 1024 { try flush() }
    }

    private mutating func flush() throws {
        try PrivateFile.write(buffer, to: file, path)
        buffer.removeAll(keepingCapacity: true)
    }

    /// Completes and renames the file.
    mutating func close() throws {
        buffer += Array("\n]}\n".utf8)
        try flush()
        try file.close()
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        try FileManager.default.moveItem(atPath: path + ".part", toPath: path)
    }

    static func reader(_ path: String) throws -> JSONRecordReader {
        JSONRecordReader(ByteReader(try FileBytes(path), of: path))
    }
}
