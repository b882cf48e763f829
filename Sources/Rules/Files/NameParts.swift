/// The extension of a file's name.
package struct NameParts {
    /// What follows the last dot; nil when there is no dot, or only one at the beginning. It can be empty.
    package let fileExtension: Substring?

    /// Takes a name apart; folders before it do not count.
    package init(_ name: String) {
        let last = Substring(name.utf8.split(separator: UInt8(ascii: "/")).last ?? Substring().utf8)
        guard let dot = last.utf8.lastIndex(of: UInt8(ascii: ".")), dot != last.startIndex else {
            fileExtension = nil
            return
        }
        fileExtension = last[last.utf8.index(after: dot)...]
    }
}
