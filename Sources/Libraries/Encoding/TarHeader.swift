/// The header of a tar entry (POSIX.1-1988 ustar, with POSIX.1-2001 records for long names and large files). Supports
/// files and folders only.
package struct TarHeader: Equatable {
    package enum Kind: UInt8 {
        case file = 0x30
        case folder = 0x35
        /// Extended records for the next entry.
        case records = 0x78
    }

    package static let blockSize = 512

    package var kind: Kind
    package var path: String
    package var size: Int
    /// The modification time in seconds since 1970.
    package var modified: Int

    private static let largestSize = 0o77777777777

    /// The header blocks, preceded by extended records if the path or the size requires them.
    package var blocks: [UInt8] {
        var blocks: [UInt8] = []
        var records: [UInt8] = []
        if path.utf8.count > 100 { records += Self.record("path", path) }
        if size > Self.largestSize { records += Self.record("size", "\(size)") }
        if !records.isEmpty {
            blocks += Self.block(.records, "records", records.count, modified)
            blocks += records
            blocks += [UInt8](repeating: 0, count: Self.padding(records.count))
        }
        let shortPath = path.utf8.count > 100 ? "long" : path
        return blocks + Self.block(kind, shortPath, min(size, Self.largestSize), modified)
    }

    /// Returns the number of bytes between the end of the content and the end of its last block.
    package static func padding(_ size: Int) -> Int { (blockSize - size % blockSize) % blockSize }

    private static func block(_ kind: Kind, _ path: String, _ size: Int, _ modified: Int) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: blockSize)
        func put(_ bytes: some Sequence<UInt8>, at offset: Int) {
            for (index, byte) in bytes.enumerated() { block[offset + index] = byte }
        }
        func octal(_ value: Int, _ digits: Int) -> [UInt8] {
            let text = String(max(0, value), radix: 8)
            return Array((String(repeating: "0", count: max(0, digits - text.count)) + text).utf8.prefix(digits))
        }
        put(path.utf8, at: 0)
        put(octal(kind == .folder ? 0o700 : 0o600, 7), at: 100)
        put(octal(0, 7), at: 108)
        put(octal(0, 7), at: 116)
        put(octal(size, 11), at: 124)
        put(octal(modified, 11), at: 136)
        put([UInt8](repeating: 0x20, count: 8), at: 148)
        block[156] = kind.rawValue
        put(Array("ustar".utf8) + [0] + Array("00".utf8), at: 257)
        put(octal(block.reduce(0) { $0 + Int($1) }, 6) + [0], at: 148)
        return block
    }

    /// Returns an extended (pax) record. Its length prefix counts its own digits.
    private static func record(_ key: String, _ value: String) -> [UInt8] {
        let rest = " \(key)=\(value)\n"
        var length = rest.utf8.count + 1
        while "\(length)".utf8.count + rest.utf8.count != length { length += 1 }
        return Array("\(length)\(rest)".utf8)
    }

    /// Parses a header block. Returns nil if it differs in any byte from the block that this type would write.
    package init?(_ block: [UInt8]) {
        guard block.count == Self.blockSize, let kind = Kind(rawValue: block[156]),
            let size = Self.octal(block[124..<135]), let modified = Self.octal(block[136..<147]),
            let path = String(validating: block[0..<100].prefix { $0 != 0 }, as: UTF8.self),
            Self.block(kind, path, size, modified) == block
        else { return nil }
        self.init(kind: kind, path: path, size: size, modified: modified)
    }

    package init(kind: Kind, path: String, size: Int, modified: Int) {
        self.kind = kind
        self.path = path
        self.size = size
        self.modified = modified
    }

    /// Applies extended records to the header. Returns false if they are malformed.
    package mutating func apply(_ records: [UInt8]) -> Bool {
        var rest = records[...]
        while !rest.isEmpty {
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            guard digits.count < 8, let length = Int(String(decoding: digits, as: UTF8.self)),
                length > digits.count + 2, length <= rest.count
            else { return false }
            let record = rest.prefix(length).dropFirst(digits.count + 1).dropLast()
            guard let separator = record.firstIndex(of: UInt8(ascii: "=")),
                let value = String(validating: record[record.index(after: separator)...], as: UTF8.self)
            else { return false }
            switch String(decoding: record[..<separator], as: UTF8.self) {
            case "path": path = value
            case "size":
                guard let number = Int(value), number >= 0 else { return false }
                size = number
            default: break
            }
            rest = rest.dropFirst(length)
        }
        return true
    }

    private static func octal(_ field: ArraySlice<UInt8>) -> Int? {
        field.allSatisfy { (0x30...0x37).contains($0) } ? Int(String(decoding: field, as: UTF8.self), radix: 8) : nil
    }

    /// Whether the path stays inside the folder that the archive is unpacked in.
    package var isInside: Bool {
        // Splits by bytes, as the system does. A combining character after a slash doesn't change that.
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return !path.isEmpty && path.utf8.count <= 4096 && !path.utf8.contains(0)
            && parts.allSatisfy { !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) }
    }
}
