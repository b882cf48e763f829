public import JSON

/// The distribution of new classes over several servers.
public struct Distribution: Equatable, Sendable {
    /// Whether each app is on one server, in its own schema. Otherwise single classes are distributed.
    public var isBySchema: Bool
    /// The number of shards of a class.
    public var shards: Int
    /// The placement of individual classes, by name.
    public var classes: [Name: ClassPlacement]
    /// The placement of all other classes except system classes, which are local.
    public var others: ClassPlacement

    public init(
        isBySchema: Bool, shards: Int = 4, classes: [Name: ClassPlacement] = [:], others: ClassPlacement = .local
    ) {
        self.isBySchema = isBySchema
        self.shards = shards
        self.classes = classes
        self.others = others
    }

    /// Returns the configured placement of a new class.
    package func placement(of className: String) -> ClassPlacement {
        classes[className] ?? (className.hasPrefix("_") ? .local : others)
    }
}

/// The distribution of a class's objects over servers.
public enum ClassPlacement: Hashable, Sendable {
    /// All on the server that Roost connects to.
    case local
    /// A copy on every server.
    case reference
    /// Each on a server chosen by the hash of a field's value.
    case rows(by: Name)
}
