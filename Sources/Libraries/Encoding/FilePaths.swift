import Platform

/// Splits file paths at slashes.
public enum FilePaths {
    /// Returns the last component of a path: `c` for `/a/b/c` and `/a/b/c/`, `/` for the root.
    public static func name(of path: String) -> String {
        let path = withoutSlashesAtEnd(path)
        guard path.utf8.count > 1, let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return String(path) }
        return String(path[path.utf8.index(after: slash)...])
    }

    /// Returns the parent folder of a path: `/a/b` for `/a/b/c`, `/` for `/a`, and an empty string for `a`.
    public static func folder(of path: String) -> String {
        let path = withoutSlashesAtEnd(path)
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        let folder = withoutSlashesAtEnd(path[..<slash])
        return folder.isEmpty ? "/" : String(folder)
    }

    /// Returns the part of the last component after its last dot. Empty without a dot or if the only dot is the first
    /// character.
    public static func fileExtension(of path: String) -> String {
        let name = name(of: path)
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return "" }
        return String(name[name.utf8.index(after: dot)...])
    }

    /// Returns whether the path is a folder, or nil if it doesn't exist or can't be accessed.
    public static func isFolder(_ path: String) -> Bool? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT == S_IFDIR : nil
    }

    private static func withoutSlashesAtEnd(_ path: some StringProtocol) -> Substring {
        var path = Substring(path)
        while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") {
            path = path[..<path.utf8.index(before: path.endIndex)]
        }
        return path
    }
}
