import Encoding

/// Rules for the names of classes and fields.
public enum Names {
    /// Whether a name matches `^[A-Za-z][A-Za-z0-9_]*$`.
    public static func isIdentifier(_ name: String) -> Bool {
        name.utf8.first?.isASCIILetter == true && name.utf8.allSatisfy(isWordByte)
    }

    private static func isWordByte(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || byte == UInt8(ascii: "_") }

    /// Whether a class may have this name: a system class, a join table's name, or an identifier that isn't reserved.
    public static func isClassName(_ name: String) -> Bool {
        if SystemClass.names.contains(name) || isJoinName(name) { return true }
        return isIdentifier(name) && name != "length" && name != "className"
            // Reserved for PostgreSQL's catalog, which takes precedence over an app's tables.
            && !name.utf8.starts(with: "pg_".utf8)
    }

    /// Whether a name has the form `_Join:<field>:<class>`.
    public static func isJoinName(_ name: String) -> Bool {
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "_Join", isIdentifier(String(parts[1])) else { return false }
        return !parts[2].isEmpty && parts[2].utf8.allSatisfy(isWordByte)
    }

    /// Whether a field of the class may have this name. `className` is reserved for `_Hooks`.
    public static func isFieldName(_ name: String, in className: String) -> Bool {
        isIdentifier(name) && name != "length" && (name != "className" || className == "_Hooks")
            && !isSystemColumn(name)
    }

    /// Whether every PostgreSQL table has a column of this name, which no field can have.
    static func isSystemColumn(_ name: String) -> Bool {
        switch name {
        case "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid": true
        default: false
        }
    }

    /// Whether a client may use the key in a `where`: `^[a-zA-Z][a-zA-Z0-9_.]*$`.
    public static func isQueryKey(_ name: String) -> Bool {
        name.utf8.first?.isASCIILetter == true
            && name.utf8.allSatisfy { isWordByte($0) || $0 == UInt8(ascii: ".") }
    }
}
