public import JSON
public import ParseModel

/// The classes that an operator of the console works with, and the fields that are hidden in them.
///
/// What is hidden and what there is not are one and the same to the operator. Everything that is asked for is looked up in
/// ``schema(_:)``; what cannot be looked up there is refused.
public struct OperatorLimits: Sendable, Equatable {
    /// The classes; nil for all that have objects of an app.
    public let classes: Set<Name>?
    /// Fields that are hidden, by class.
    public let hidden: [Name: Set<Name>]

    /// How many classes and fields limits name at most.
    private static let most = 1_000
    /// What an object cannot be without.
    private static let shown: Set<Name> = ["objectId", "createdAt", "updatedAt", "className", "__type"]
    /// The server's own classes that people work with. What the others keep is of all classes.
    private static let ownClasses: Set<Name> = ["_User", "_Role", "_Installation", "_Session"]

    /// Names the limits.
    public init(classes: Set<Name>?, hidden: [Name: Set<Name>] = [:]) {
        self.classes = classes
        self.hidden = hidden
    }

    /// Reads limits as they are stored and sent: `{"classes":[…],"hidden":{"Song":["plays"]}}`.
    ///
    /// - Throws: 107 for what does not say clearly what is hidden.
    public init(json: JSONObject) throws(ParseError) {
        var classes: Set<Name>?
        if let value = json["classes"], !value.isNull { classes = try Self.names(value) }
        var hidden: [Name: Set<Name>] = [:]
        if let value = json["hidden"], !value.isNull {
            guard let object = value.objectValue, object.count <= Self.most else { throw Self.malformed }
            for (className, fields) in object {
                hidden[className] = try Self.names(fields)
                guard hidden[className]?.isDisjoint(with: Self.shown) == true else { throw Self.malformed }
            }
        }
        self.init(classes: classes, hidden: hidden)
    }

    private static func names(_ value: JSONValue) throws(ParseError) -> Set<Name> {
        guard let list = value.arrayValue, list.count <= most else { throw malformed }
        var names: Set<Name> = []
        for value in list {
            guard let name = value.nameValue, (1...128).contains(name.utf8.count), !name.utf8.contains(0) else {
                throw malformed
            }
            names.insert(name)
        }
        return names
    }

    private static let malformed = ParseError(
        ParseError.invalidJSON,
        "classes is a list of names, and hidden an object of lists of fields by class, without objectId and dates.")

    /// Whether the operator works with a class.
    public func shows(_ className: Name) -> Bool {
        guard className.utf8.first != UInt8(ascii: "_") || Self.ownClasses.contains(className) else { return false }
        return classes?.contains(className) ?? true
    }

    /// Whether a field of a class is hidden.
    public func hides(_ field: Name, of className: Name) -> Bool { hidden[className]?.contains(field) == true }

    /// A class as the operator knows it; nil for one that the operator does not work with.
    public func schema(_ schema: ClassSchema?) -> ClassSchema? {
        guard var schema, shows(Name(schema.name)) else { return nil }
        for field in hidden[Name(schema.name)] ?? [] { schema.fields[field] = nil }
        return schema
    }
}
