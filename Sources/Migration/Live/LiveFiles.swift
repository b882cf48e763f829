import Encoding
import Foundation
import JSON
import NIOCore
import Outgoing

/// The uploaded files that objects name, fetched from where they lie.
struct LiveFiles {
    let server: LiveServer
    let folder: String
    /// Where each is, by name.
    private var addresses: [Name: String] = [:]

    /// The longest name of an entry of a folder.
    private static let longestName = 255

    init(server: LiveServer, folder: String) {
        self.server = server
        self.folder = folder
    }

    /// Notes the files that a value names.
    mutating func note(_ value: JSONValue) {
        switch value {
        case .array(let list): for element in list { note(element) }
        case .object(let object):
            if object["__type"] == "File", let name = object["name"]?.nameValue, let url = object["url"]?.stringValue,
                url.hasPrefix("http://") || url.hasPrefix("https://")
            {
                addresses[name] = url
                return
            }
            for member in object.values { note(member) }
        default: break
        }
    }

    /// Notes the files that the objects in a file of an export name.
    mutating func note(objectsIn path: String) throws {
        let reader = try LiveFile.reader(path)
        while let record = try reader.next() { if case .rest(let object) = record { note(.object(object)) } }
    }

    /// Fetches those that are not there yet.
    ///
    /// - Returns: What is told of those that could not be had.
    func fetch(_ progress: ImportProgress) async throws -> [String] {
        var notes: [String] = []
        for (name, url) in addresses.sorted(by: { $0.key < $1.key }) {
            try progress.check()
            progress.begin("fetching the file \(name)", totalBytes: 0)
            let entry = PercentEncoding.encode(name.text)
            guard !entry.isEmpty, !entry.hasPrefix("."), entry.utf8.count <= Self.longestName else {
                notes.append("the file \(name) is left out: no file can have this name")
                continue
            }
            let path = "\(folder)/\(entry)"
            guard !FileManager.default.fileExists(atPath: path) else { continue }
            do {
                let status = try await fetch(url, to: path)
                guard status != 200 else { continue }
                notes.append("the file \(name) is left out: \(url) answers with \(status)")
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                notes.append("the file \(name) is left out: \(url): \(error)")
            }
        }
        return notes
    }

    private func fetch(_ url: String, to path: String) async throws -> Int {
        let unfinished = folder + "/.unfinished"
        let file = try PrivateFile.create(unfinished)
        defer { try? file.close() }
        let status = try await server.caller.download(HTTPCall("GET", url)) { piece in
            try file.write(contentsOf: Data(piece.readableBytesView))
        }
        if (200...299).contains(status) {
            try FileManager.default.moveItem(atPath: unfinished, toPath: path)
            return 200
        }
        return status
    }
}
