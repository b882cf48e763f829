import CConsole
import Crypto
import Encoding
import HTTP
import Platform
import Synchronization

/// The files of the console page, either from the binary or, during development, from a folder.
package struct ConsoleFiles: Sendable {
    private struct File: Sendable {
        let type: String
        let bytes: [UInt8]
        /// The gzip-compressed bytes, or nil if compression saves nothing.
        let packed: [UInt8]?
    }

    private let path: String
    private let folder: String?

    /// The index of each file in the binary, by name.
    package static let numbers: [String: Int32] = {
        var numbers: [String: Int32] = [:]
        for number in 0..<console_file_count() {
            if let name = console_file_name(number) { numbers[String(cString: name)] = number }
        }
        return numbers
    }()

    /// The files requested so far. Files are compressed on first use, so an unused console costs no memory.
    private static let asked = Mutex<[Int32: File]>([:])

    /// The version of the code that converts files for browsers. Raise it with each change of ``DocumentPage`` or
    /// ``withoutComments(_:)``, because browsers never request a cached URL again.
    private static let form: UInt8 = 1

    private static let hash: String = {
        var hash = SHA256()
        hash.update(data: [form])
        for number in 0..<console_file_count() {
            guard let name = console_file_name(number) else { continue }
            hash.update(data: Array(String(cString: name).utf8) + [0])
            hash.update(bufferPointer: UnsafeRawBufferPointer(bytes(number)))
        }
        return hash.finalize().prefix(8).hexadecimal
    }()

    private static func bytes(_ number: Int32) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: console_file_bytes(number), count: console_file_size(number))
    }

    private static func file(_ name: String) -> File? {
        guard let number = numbers[name] else { return nil }
        if let file = asked.withLock({ $0[number] }) { return file }
        let bytes = Array(bytes(number))
        let sent =
            switch name.split(separator: ".").last {
            case "js", "css": withoutComments(bytes)
            case "md": Array(page(ofDocument: bytes).utf8)
            default: bytes
            }
        let file = File(type: type(of: name), bytes: sent, packed: Gzip.packed(sent))
        asked.withLock { $0[number] = file }
        return file
    }

    private static func page(ofDocument markdown: [UInt8]) -> String {
        DocumentPage(String(decoding: markdown, as: UTF8.self)) { numbers["docs/\($0)"] != nil }.html
    }

    /// Removes indentation and whole-line comments from a module or style sheet, keeping line numbers. Assumes that no
    /// string spans lines, which lint checks.
    package static func withoutComments(_ bytes: [UInt8]) -> [UInt8] {
        var isComment = false
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
            let code = line.drop { $0 == UInt8(ascii: " ") }
            if code.starts(with: "/*".utf8) { isComment = true }
            let isLeftOut = isComment || code.starts(with: "//".utf8)
            if isComment, code.suffix(2).elementsEqual("*/".utf8) { isComment = false }
            return isLeftOut ? [] : code
        }
        return Array(lines.joined(separator: [UInt8(ascii: "\n")]))
    }

    /// - Parameters:
    ///   - path: The path of the console.
    ///   - folder: The folder to read the files from, or nil for the files in the binary.
    package init(path: String, folder: String?) {
        self.path = path
        self.folder = folder
    }

    /// The base URL path of the files, without a trailing slash. For files in the binary, it includes a hash of all of
    /// them, so that browsers can cache them permanently.
    var address: String { "\(path)/a/\(folder == nil ? Self.hash : "folder")" }

    /// The HTML of the console page, with the addresses of its scripts and style sheets.
    package var index: String {
        let bytes = folder.map { Self.read("\($0)/index.html") ?? [] } ?? Self.file("index.html")?.bytes ?? []
        return String(decoding: bytes, as: UTF8.self).replacing("{{assets}}", with: address)
    }

    /// Returns a response with a file, or nil if the file doesn't exist.
    ///
    /// - Parameter path: The path below ``address``.
    package func reply(_ path: Substring, acceptsGzip: Bool) -> Reply? {
        if let folder {
            let components = path.split(separator: "/", omittingEmptySubsequences: false)
            guard components.allSatisfy({ !$0.isEmpty && !$0.hasPrefix(".") && !$0.contains("%") }),
                // Documents lie outside the folder.
                let bytes = Self.read("\(folder)/\(path)")
                    ?? (path.hasPrefix("docs/") ? Self.file(String(path))?.bytes : nil)
            else { return nil }
            return Reply(headers: [("Content-Type", Self.type(of: String(path)))], body: .json(bytes))
        }
        guard path != "index.html", let file = Self.file(String(path)) else { return nil }
        var reply = Reply(
            headers: [
                ("Content-Type", file.type), ("Cache-Control", "public, max-age=31536000, immutable"),
                ("ETag", "\"\(address.suffix(16))\""), ("Vary", "Accept-Encoding"),
            ], body: .json(file.bytes))
        if acceptsGzip, let packed = file.packed {
            reply.headers.append(("Content-Encoding", "gzip"))
            reply.body = .json(packed)
        }
        return reply
    }

    private static func read(_ path: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path).map { Array($0) }
    }

    private static func type(of name: String) -> String {
        switch name.split(separator: ".").last ?? "" {
        case "html", "md": "text/html; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "application/octet-stream"
        }
    }
}

extension Reply {
    /// The sizes in bytes for which responses are compressed. Compressing larger ones would occupy a core for too long.
    private static let packedSizes = 1_025...2_097_152

    /// Returns the response, compressed if that is allowed and worthwhile.
    func packed(_ acceptsGzip: Bool) -> Reply {
        guard acceptsGzip, case .json(let bytes) = body, Self.packedSizes.contains(bytes.count),
            !headers.contains(where: { $0.0 == "Content-Encoding" }), let packed = Gzip.packed(bytes, level: 1)
        else { return self }
        var reply = self
        reply.body = .json(packed)
        reply.headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
        return reply
    }
}
