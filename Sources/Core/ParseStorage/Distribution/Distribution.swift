public import JSON
public import ParseModel

/// The configured distribution of new classes over Citus servers.
public struct Distribution: Sendable {
    /// Whether each app is stored in a separate distributed schema. Otherwise single classes are distributed.
    public var isBySchema: Bool
    /// The number of shards per class.
    public var shards: Int
    /// The placements of classes named in the configuration.
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
    func placement(of className: String) -> ClassPlacement {
        classes[className] ?? (className.hasPrefix("_") ? .local : others)
    }
}

extension SchemaCatalog {
    /// Whether changes of objects of a class need an explicit transaction. Without one, Citus immediately commits each
    /// statement on its server.
    func changesInBlocks(_ schema: ClassSchema) -> Bool {
        guard let distribution else { return false }
        return distribution.isBySchema || schema.placement != .local
    }
}

extension ClassSchema {
    /// The field that distributes the objects over servers, or nil if no field does.
    var distributedBy: Name? {
        guard case .rows(let field) = placement else { return nil }
        return field
    }

    /// The column that breaks ties in the sort order, or nil if the class isn't distributed. Citus returns tied rows in
    /// any order.
    var lastSortKey: String? { distributedBy.map { _ in "\"objectId\"" } }

    /// The SQL function for the size of a table. For distributed tables, PostgreSQL's own function reports 0.
    var sizeFunction: String { distributedBy == nil ? "pg_relation_size" : "citus_relation_size" }

    /// The distribution field, or nil if the class isn't distributed or distributed by object id.
    var placingField: Name? { distributedBy.flatMap { $0 == "objectId" ? nil : $0 } }

    /// Checks that the class has its distribution field.
    ///
    /// - Parameter current: The current class, or nil for a new one.
    /// - Throws: 142 if a new class lacks the field, 111 if the field has the wrong type, 119 if the field of an
    ///   existing class would be removed or change its type.
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

    /// Returns the error for an object without its distribution field.
    static func missing(_ field: Name, of className: String) -> ParseError {
        ParseError(ParseError.validationError, "\(field) is required: \(className) is distributed by it")
    }

    /// Checks that an update doesn't change the distribution field. Throws 119 if it does.
    func checkPlace(_ operations: some Sequence<Name>) throws(ParseError) {
        guard let field = placingField, operations.contains(field) else { return }
        throw kept(field, "changed")
    }

    /// Throws 102 if a unique index doesn't include the distribution field.
    package func checkUnique(_ indexes: JSONObject) throws(ParseError) {
        guard let distributedBy, indexes.values.contains(where: isUniqueByServer) else { return }
        throw ParseError(
            ParseError.invalidQuery,
            "A unique index on \(name) must include \(distributedBy): the class is distributed by it, and each server "
                + "checks only its own objects")
    }

    /// Whether the class has unique values that are spread over servers, each of which checks only its own rows.
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
