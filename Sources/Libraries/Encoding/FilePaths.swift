#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif
/// Paths of files, taken apart at their slashes.
public enum FilePaths {
    /// The last component of a path: `c` for `/a/b/c` and `/a/b/c/`, `/` for the root.
    public static func name(of path: String) -> String {
        let path = withoutSlashesAtEnd(path)
        guard path.utf8.count > 1, let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return String(path) }
        return String(path[path.utf8.index(after: slash)...])
    }

    /// The folder that holds what a path names: `/a/b` for `/a/b/c`, `/` for `/a`. Empty for `a`, which lies in the current
    /// folder.
    public static func folder(of path: String) -> String {
        let path = withoutSlashesAtEnd(path)
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        let folder = withoutSlashesAtEnd(path[..<slash])
        return folder.isEmpty ? "/" : String(folder)
    }

    /// The part of a path's last component after its last dot. Empty without a dot, or if only the first character is one.
    public static func fileExtension(of path: String) -> String {
        let name = name(of: path)
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return "" }
        return String(name[name.utf8.index(after: dot)...])
    }

    /// Whether a path leads to a folder, or nil if it leads nowhere.
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
