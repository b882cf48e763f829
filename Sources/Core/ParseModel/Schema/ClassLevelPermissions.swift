import JSON

/// What may be done with a class as a whole.
public enum ClassOperation: String, Sendable, CaseIterable {
    case find, count, get, create, update, delete, addField
}

/// Who may do what with a class.
public struct ClassLevelPermissions: Sendable, Hashable {
    /// Who may do one operation.
    public struct Entry: Sendable, Hashable {
        /// `*`, user ids and `role:<name>` that are let in.
        public var principals: Set<Name> = []
        /// Whether anybody who is logged in is let in.
        public var requiresAuthentication = false
        /// Fields whose user (or users) are let in, object by object.
        public var pointerFields: [Name] = []

        /// Everyone.
        public static let open = Entry(principals: ["*"])
    }

    /// Who may do each operation; an operation that is missing is closed.
    public var entries: [ClassOperation: Entry]
    /// Fields whose users may read an object.
    public var readUserFields: [Name] = []
    /// Fields whose users may write an object.
    public var writeUserFields: [Name] = []
    /// Fields that are hidden, by whom they are hidden from.
    public var protectedFields: [Name: [Name]] = [:]
    /// The ACL of a new object that brings none, by principal.
    public var defaultACL: JSONObject?
    /// The permissions exactly as they were given, for answers and for the schema's row.
    public var source: JSONObject

    /// The permissions of a class that never got any: everybody may do everything.
    public static let open: ClassLevelPermissions = {
        var permissions = ClassLevelPermissions(json: [:])
        for operation in ClassOperation.allCases { permissions.entries[operation] = .open }
        permissions.source = [
            "find": ["*": true], "count": ["*": true], "get": ["*": true], "create": ["*": true],
            "update": ["*": true], "delete": ["*": true], "addField": ["*": true],
            "protectedFields": ["*": []],
        ]
        return permissions
    }()

    /// Reads permissions as the schemas API takes them; what is not understood admits no caller.
    public init(json: JSONObject) {
        source = json
        entries = [:]
        for operation in ClassOperation.allCases {
            guard let object = json[operation.rawValue]?.objectValue else { continue }
            var entry = Entry()
            for (key, value) in object {
                switch key {
                case "requiresAuthentication": entry.requiresAuthentication = value.isTruthy
                case "pointerFields": entry.pointerFields = value.names
                default: if value.isTruthy { entry.principals.insert(key) }
                }
            }
            entries[operation] = entry
        }
        readUserFields = json["readUserFields"]?.names ?? []
        writeUserFields = json["writeUserFields"]?.names ?? []
        for (entity, fields) in json["protectedFields"]?.objectValue ?? [:] {
            protectedFields[entity] = fields.names
        }
        defaultACL = json["ACL"]?.objectValue
    }

    /// Who may do an operation.
    public subscript(operation: ClassOperation) -> Entry { entries[operation] ?? Entry() }

    /// Whether an operation is let through for principals (`*`, roles, a user id) without looking at objects.
    public func admits(_ principals: [Name], to operation: ClassOperation) -> Bool {
        let entry = self[operation]
        return entry.principals.contains("*") || principals.contains { entry.principals.contains($0) }
    }

    /// The fields by which an operation can be let through object by object.
    public func userFields(for operation: ClassOperation) -> [Name] {
        let legacy: [Name] =
            switch operation {
            case .get, .find, .count: readUserFields
            case .update, .delete, .addField: writeUserFields
            case .create: []
            }
        return operation == .create ? [] : self[operation].pointerFields + legacy
    }
}
