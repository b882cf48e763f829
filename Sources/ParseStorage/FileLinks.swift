import JSON

/// The URLs of stored files, as they are written into answers.
public struct FileLinks: Sendable {
    /// The address of the mount path, as the client sees it.
    private var mountURL: String
    /// What follows it, up to and with the slash before the name.
    private let path: [UInt8]
    /// The key of files that were stored by hosted Parse (`fileKey`); nil when there are none.
    private let hostedKey: String?

    /// Makes links to the files of an application.
    ///
    /// - Parameters:
    ///   - mountURL: The address of the mount path, as the client sees it.
    ///   - applicationID: The id of the application.
    ///   - hostedKey: The key of files that were stored by hosted Parse; nil when there are none.
    public init(mountURL: String, applicationID: String, hostedKey: String? = nil) {
        var writer = JSONWriter(capacity: applicationID.utf8.count + 16)
        writer.raw("/files/")
        for byte in applicationID.utf8 { Self.writeEncoded(byte, keepsSlashes: false, into: &writer) }
        writer.raw("/")
        self.mountURL = mountURL
        path = writer.bytes
        self.hostedKey = hostedKey
    }

    /// The same links for a client that sees the server under another address.
    public func below(_ mountURL: String) -> FileLinks {
        var links = self
        links.mountURL = mountURL
        return links
    }

    /// Names alone, for objects that no client sees.
    public static let none = FileLinks(mountURL: "", applicationID: "")

    /// Appends the URL of a file.
    func write(_ name: UnsafeRawBufferPointer, into writer: inout JSONWriter) {
        writer.byte(UInt8(ascii: "\""))
        if let hostedKey, let base = Self.hostedBase(name, key: hostedKey) {
            writer.raw(Array(base.utf8))
        } else {
            writer.raw(utf8Of: mountURL)
            writer.raw(path)
        }
        for byte in name { Self.writeEncoded(byte, keepsSlashes: true, into: &writer) }
        writer.byte(UInt8(ascii: "\""))
    }

    /// Appends a byte as JavaScript's `encodeURIComponent` writes it; the slashes of directories may stay.
    private static func writeEncoded(_ byte: UInt8, keepsSlashes: Bool, into writer: inout JSONWriter) {
        if isPlain(byte) && (keepsSlashes || byte != UInt8(ascii: "/")) {
            writer.byte(byte)
        } else {
            writer.byte(UInt8(ascii: "%"))
            writer.byte(hexadecimal[Int(byte >> 4)])
            writer.byte(hexadecimal[Int(byte & 15)])
        }
    }

    /// The URL of a file as text.
    public func url(_ name: String) -> String {
        var writer = JSONWriter(capacity: 128)
        var name = name
        name.withUTF8 { write(UnsafeRawBufferPointer($0), into: &writer) }
        return String(writer.text.dropFirst().dropLast())
    }

    private static let hexadecimal = Array("0123456789ABCDEF".utf8)

    /// What JavaScript's `encodeURIComponent` leaves alone, and the slashes of directories.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        // - _ . ! ~ * ' ( ) /
        case 0x2D, 0x5F, 0x2E, 0x21, 0x7E, 0x2A, 0x27, 0x28, 0x29, 0x2F: true
        default: false
        }
    }

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
