public import JSON
public import ParseModel

/// How classes lie on the servers of Citus, as the configuration says of those that are made.
public struct Distribution: Sendable {
    /// Whether each app lies whole in a schema of its own; else classes are spread.
    public var isBySchema: Bool
    /// How many parts the rows of a class have.
    public var shards: Int
    /// Placements of the classes that the configuration names.
    public var classes: [Name: ClassPlacement]
    /// What holds for classes of the app that are not named.
    public var others: ClassPlacement

    /// Makes it from its parts.
    public init(
        isBySchema: Bool, shards: Int = 4, classes: [Name: ClassPlacement] = [:], others: ClassPlacement = .local
    ) {
        self.isBySchema = isBySchema
        self.shards = shards
        self.classes = classes
        self.others = others
    }

    /// Where a class belongs that is made now.
    func placement(of className: String) -> ClassPlacement {
        classes[className] ?? (className.hasPrefix("_") ? .local : others)
    }
}

extension SchemaCatalog {
    /// Whether what changes objects of a class together needs a transaction with a beginning and an end of its own, which
    /// is not shared: Citus commits everything else on its server at once.
    func changesInBlocks(_ schema: ClassSchema) -> Bool {
        guard let distribution else { return false }
        return distribution.isBySchema || schema.placement != .local
    }
}

extension ClassSchema {
    /// The field besides the id of which the place of an object is computed; nil for the id alone, or no field.
    var placingField: Name? { distributedBy.flatMap { $0 == "objectId" ? nil : $0 } }

    /// Checks that the class can lie where it is to.
    ///
    /// - Parameter current: The class as it is; nil for one that is made.
    /// - Throws: 142 or 111 for a new class whose objects have no such field, 119 for a change of that field.
    func checkPlacement(from current: ClassSchema?) throws(ParseError) {
        guard let field = placingField else { return }
        guard let type = type(of: field.text) else {
            throw current == nil
                ? Self.missing(field, of: name)
                : kept(field, "removed")
        }
        switch type {
        case .string, .pointer: break
        default:
            throw ParseError(
                ParseError.incorrectType, "\(name) is distributed by \(field), which must be a String or a Pointer")
        }
        if let current, current.type(of: field.text) != type {
            throw kept(field, "changed")
        }
    }

    private func kept(_ field: Name, _ change: String) -> ParseError {
        ParseError(ParseError.operationForbidden, "\(field) can't be \(change): \(name) is distributed by it")
    }

    /// What a new object is refused with that does not say where it belongs.
    static func missing(_ field: Name, of className: String) -> ParseError {
        ParseError(ParseError.validationError, "\(field) is required: \(className) is distributed by it")
    }

    /// Checks that a write of an object leaves it where it is; throws 119.
    func checkPlace(_ operations: some Sequence<Name>) throws(ParseError) {
        guard let field = placingField, operations.contains(field) else { return }
        throw kept(field, "changed")
    }

    /// Throws 102 if an index has `$unique` and not the field that the class is distributed by.
    package func checkUnique(_ indexes: JSONObject) throws(ParseError) {
        guard let distributedBy, indexes.values.contains(where: isUniqueByServer) else { return }
        throw ParseError(
            ParseError.invalidQuery,
            "An index of \(name) can't be unique without \(distributedBy): the class is distributed by it, and each "
                + "server looks at its own objects only")
    }

    /// Whether values of the class must be unique and each server would see only its own.
    package var splitsUniqueValues: Bool {
        distributedBy != nil && (name == "_User" || indexes.values.contains(where: isUniqueByServer))
    }

    private func isUniqueByServer(_ index: JSONValue) -> Bool {
        guard let index = index.objectValue, index["$unique"]?.boolValue == true else { return false }
        return !IndexOptions.columns(of: index).keys.contains {
            Name(IndexDefinition.field($0.text, of: self)) == distributedBy
        }
    }
}
