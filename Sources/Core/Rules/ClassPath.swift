import JSON

/// The REST paths of classes.
package enum ClassPath {
    /// The first path component for most classes: `classes/<Class>`.
    package static let classes: Name = "classes"

    private static let own: [(className: Name, path: Name)] = [
        ("_User", "users"), ("_Session", "sessions"), ("_Role", "roles"), ("_Installation", "installations"),
    ]

    private static let pathOfClass = Dictionary(uniqueKeysWithValues: own.map { ($0.className, $0.path) })
    private static let classOfPath = Dictionary(uniqueKeysWithValues: own.map { ($0.path, $0.className) })

    /// Returns the separate path of a class, such as `users`, or nil for most classes.
    package static func own(of className: Name) -> Name? { pathOfClass[className] }

    /// Returns the class with this lower-case separate path, such as `_User` for `users`, or nil for other paths.
    package static func className(ofPath name: Name) -> Name? { classOfPath[name] }

    /// Returns the class and id that a path addresses, or nil if it doesn't address objects.
    package static func target(of path: [String]) -> (className: String, objectId: String?)? {
        guard let first = path.first else { return nil }
        let name = Name(first.asciiLowercased)
        if name == classes { return path.count > 1 ? (path[1], path.count > 2 ? path[2] : nil) : nil }
        return className(ofPath: name).map { ($0.text, path.count > 1 ? path[1] : nil) }
    }

    /// Returns the class whose objects or schema a request addresses, or nil for other requests.
    package static func className(of path: [String], body: JSONObject) -> String? {
        if let target = target(of: path) { return target.className }
        guard let first = path.first, ["schemas", "purge"].contains(first.asciiLowercased) else { return nil }
        return path.count > 1 ? path[1] : body["className"]?.stringValue
    }

    /// Returns the path prefix used in the `Location` header of created objects. Only users have a separate one.
    package static func path(of className: String) -> String {
        className == "_User" ? "users" : "classes/\(className)"
    }
}
