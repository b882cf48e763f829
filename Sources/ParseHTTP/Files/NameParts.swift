/// The extension of a file's name.
struct NameParts {
    /// What follows the last dot; nil when there is no dot, or only one at the beginning. It can be empty.
    let fileExtension: Substring?

    init(_ name: String) {
        let bytes = name.utf8
        let end = bytes.lastIndex { $0 != UInt8(ascii: "/") }.map(bytes.index(after:)) ?? bytes.startIndex
        let last = bytes[..<end].lastIndex(of: UInt8(ascii: "/")).map(bytes.index(after:)) ?? bytes.startIndex
        guard let dot = bytes[last..<end].lastIndex(of: UInt8(ascii: ".")), dot != last else {
            fileExtension = nil
            return
        }
        fileExtension = name[bytes.index(after: dot)..<end]
    }
}
