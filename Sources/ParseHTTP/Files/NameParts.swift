/// The extension of a file's name.
struct NameParts {
    /// What follows the last dot; nil when there is no dot, or only one at the beginning. It can be empty.
    let fileExtension: Substring?

    init(_ name: String) {
        let last = name.split(separator: "/").last ?? ""
        guard let dot = last.lastIndex(of: "."), dot != last.startIndex else {
            fileExtension = nil
            return
        }
        fileExtension = last[last.index(after: dot)...]
    }
}
