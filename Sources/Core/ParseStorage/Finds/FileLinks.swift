import Encoding
import JSON

/// Builds the URLs of files.
public struct FileLinks: Sendable {
    private var mountURL: String
    private let path: [UInt8]
    private let hostedKey: String?
    private let location: (@Sendable (String) -> String?)?

    /// Creates links to the files of an app.
    ///
    /// - Parameters:
    ///   - mountURL: The URL of the mount path, as the client sees it.
    ///   - applicationID: The id of the app.
    ///   - hostedKey: The key of files stored by hosted Parse (`fileKey`), or nil if there are none.
    ///   - location: Returns a file's URL at its store, or nil to serve it here. Pass nil to serve all files here.
    public init(
        mountURL: String, applicationID: String, hostedKey: String? = nil,
        location: (@Sendable (String) -> String?)? = nil
    ) {
        var writer = JSONWriter(capacity: applicationID.utf8.count + 16)
        writer.raw("/files/")
        writer.raw(utf8Of: PercentEncoding.encode(applicationID))
        writer.raw("/")
        self.mountURL = mountURL
        path = writer.bytes
        self.hostedKey = hostedKey
        self.location = location
    }

    /// Returns the same links under another mount URL.
    public func below(_ mountURL: String) -> FileLinks {
        var links = self
        links.mountURL = mountURL
        return links
    }

    /// Links without a server address, for objects that no client sees.
    public static let none = FileLinks(mountURL: "", applicationID: "")

    func write(_ name: UnsafeRawBufferPointer, into writer: inout JSONWriter) {
        let hosted = hostedKey.flatMap { Self.hostedBase(name, key: $0) }
        if let location, hosted == nil, let url = location(String(decoding: name, as: UTF8.self)) {
            return writer.string(url)
        }
        writer.byte(UInt8(ascii: "\""))
        if let hosted {
            writer.raw(utf8Of: hosted)
        } else {
            writer.raw(utf8Of: mountURL)
            writer.raw(path)
        }
        for byte in name { PercentEncoding.encode(byte, keepingSlashes: true) { writer.byte($0) } }
        writer.byte(UInt8(ascii: "\""))
    }

    /// Returns the URL of a file.
    public func url(_ name: String) -> String {
        var writer = JSONWriter(capacity: 128)
        var name = name
        name.withUTF8 { write(UnsafeRawBufferPointer($0), into: &writer) }
        return String(writer.text.dropFirst().dropLast())
    }

    /// Updates the URLs of files inside a field's value. Returns nil if the value contains no files or isn't valid
    /// JSON, or if the server serves all files.
    func renewed(_ json: UnsafeRawBufferPointer) -> [UInt8]? {
        guard location != nil, json.contains(Self.mark), let value = try? JSONValue(parsing: Array(json)) else {
            return nil
        }
        return renewed(value).serialized()
    }

    /// Updates the URLs of all files in a value, unless the server serves all files.
    func renewed(_ value: JSONValue) -> JSONValue {
        guard location != nil else { return value }
        switch value {
        case .array(let list): return .array(list.map(renewed))
        case .object(var object):
            if object["__type"] == "File", let name = object["name"]?.stringValue {
                object["url"] = .string(url(name))
            } else {
                for (key, member) in object where member.arrayValue != nil || member.objectValue != nil {
                    object[key] = renewed(member)
                }
            }
            return .object(object)
        default: return value
        }
    }

    private static let mark = Array("\"File\"".utf8)

    private static func hostedBase(_ name: UnsafeRawBufferPointer, key: String) -> String? {
        let text = String(decoding: name, as: UTF8.self)
        if text.hasPrefix("tfss-") { return "http://files.parsetfss.com/\(key)/" }
        let parts = text.prefix(37)
        let isUUID =
            parts.count == 37 && parts.last == "-"
            && parts.enumerated().allSatisfy { index, character in
                [8, 13, 18, 23, 36].contains(index) ? character == "-" : character.isHexDigit
            }
        return isUUID ? "http://files.parse.com/\(key)/" : nil
    }
}
