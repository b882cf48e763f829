import Encoding

/// An email address with an optional name: `ann@example.com`, `Ann <ann@example.com>`.
package struct MailAddress: Equatable {
    var name: String?
    /// The address without the name, as used in SMTP.
    var address: String

    /// Parses an address, or returns nil if it is invalid. Removes ASCII control characters, which could begin another
    /// header line.
    package init?(_ text: String) {
        // Some programs also treat these non-ASCII characters as line breaks.
        guard
            !text.unicodeScalars.contains(where: {
                (0x80...0x9F).contains($0.value) || (0x2028...0x2029).contains($0.value)
            })
        else { return nil }
        let bytes = text.utf8.filter { $0 >= 0x20 && $0 != 0x7F }
        if let start = bytes.lastIndex(of: UInt8(ascii: "<")), bytes.last == UInt8(ascii: ">") {
            address = String(decoding: bytes[(start + 1)...].dropLast(), as: UTF8.self)
            let name = String(decoding: bytes[..<start], as: UTF8.self).split(separator: " ").joined(separator: " ")
            self.name = name.isEmpty ? nil : Self.unquoted(name)
        } else {
            address = String(decoding: bytes, as: UTF8.self)
        }
        // Rejects characters that end an address in SMTP, and addresses without text on both sides of the @.
        guard let at = address.utf8.lastIndex(of: UInt8(ascii: "@")), at != address.utf8.startIndex,
            address.utf8.index(after: at) != address.utf8.endIndex, address.utf8.count <= 320,
            !address.utf8.contains(where: { " <>,;\"".utf8.contains($0) })
        else { return nil }
    }

    /// The address with its name, quoted if necessary.
    var text: String {
        guard let name else { return address }
        let isPlain = name.utf8.allSatisfy { $0 > 0x7F || $0.isASCIIAlphanumeric || " -".utf8.contains($0) }
        let quoted = name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return isPlain ? "\(name) <\(address)>" : "\"\(quoted)\" <\(address)>"
    }

    var domain: String {
        address.utf8.lastIndex(of: UInt8(ascii: "@")).map { String(address[address.utf8.index(after: $0)...]) } ?? ""
    }

    private static func unquoted(_ name: String) -> String {
        let bytes = name.utf8
        guard bytes.count > 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return name }
        return String(name.dropFirst().dropLast()).replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
    }
}
