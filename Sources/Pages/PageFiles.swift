import Foundation
import ServerConfiguration

/// The files of a deployment's own pages, read when the server starts: no request reaches the disk, so no path leads out
/// of the folder.
struct PageFiles: Sendable {
    /// Contents by their paths below the folder, such as `de/password_reset.html`.
    private(set) var contents: [[UInt8]: [UInt8]] = [:]

    /// The most bytes of all files together.
    private static let most = 64 * 1024 * 1024

    /// Reads a folder.
    ///
    /// - Throws: `ConfigurationError` for a folder that cannot be read, or holds more than pages do.
    init(folder: String) throws(ConfigurationError) {
        let root = URL(fileURLWithPath: folder).resolvingSymlinksInPath()
        guard let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: [.isRegularFileKey])
        else {
            throw ConfigurationError("option pages.pagesPath: the folder \(folder) cannot be read")
        }
        var size = 0
        while let file = files.nextObject() as? URL {
            guard (try? file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true,
                let data = try? Data(contentsOf: file)
            else { continue }
            size += data.count
            guard size <= Self.most else {
                throw ConfigurationError(
                    "option pages.pagesPath: the files below \(folder) are larger than 64 MB together")
            }
            let path = file.path.utf8.dropFirst(root.path.utf8.count).drop { $0 == UInt8(ascii: "/") }
            contents[Array(path)] = Array(data)
        }
        guard FileManager.default.fileExists(atPath: root.path) else {
            throw ConfigurationError("option pages.pagesPath: there is no folder \(folder)")
        }
    }

    /// The content of a file.
    func content(_ path: String) -> [UInt8]? { contents[Array(path.utf8)] }

    /// The type of a file by its extension.
    static func type(_ path: String) -> String {
        switch path.utf8.split(separator: UInt8(ascii: ".")).last.map({ String($0)?.lowercased() ?? "" }) ?? "" {
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "json": "application/json; charset=utf-8"
        case "txt": "text/plain; charset=utf-8"
        case "html", "htm": "text/html; charset=utf-8"
        case "png": "image/png"
        case "jpg", "jpeg": "image/jpeg"
        case "gif": "image/gif"
        case "webp": "image/webp"
        case "svg": "image/svg+xml"
        case "ico": "image/x-icon"
        case "woff2": "font/woff2"
        case "woff": "font/woff"
        default: "application/octet-stream"
        }
    }
}
