import JSON

/// The paths of the REST interface under which the objects of a class are reached.
package enum ClassPath {
    /// What the paths of most classes begin with: `classes/<Class>`.
    package static let classes: Name = "classes"

    /// Classes with an additional path of their own.
    private static let own: [(className: Name, path: Name)] = [
        ("_User", "users"), ("_Session", "sessions"), ("_Role", "roles"), ("_Installation", "installations"),
    ]

    private static let pathOfClass = Dictionary(uniqueKeysWithValues: own.map { ($0.className, $0.path) })
    private static let classOfPath = Dictionary(uniqueKeysWithValues: own.map { ($0.path, $0.className) })

    /// The path that is a class's own; nil for most classes.
    package static func own(of className: Name) -> Name? { pathOfClass[className] }

    /// The class whose own path begins with a name, in small letters; nil for any other name.
    package static func className(ofPath name: Name) -> Name? { classOfPath[name] }

    /// The class and the id that a path names; nil for what is about no objects.
    package static func target(of path: [String]) -> (className: String, objectId: String?)? {
        guard let first = path.first else { return nil }
        let name = Name(first.asciiLowercased)
        if name == classes { return path.count > 1 ? (path[1], path.count > 2 ? path[2] : nil) : nil }
        return className(ofPath: name).map { ($0.text, path.count > 1 ? path[1] : nil) }
    }

    /// The path below which objects of a class are, as the answers to their creation have it: only users have one of
    /// their own.
    package static func path(of className: String) -> String {
        className == "_User" ? "users" : "classes/\(className)"
    }
}
