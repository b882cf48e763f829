import JSON

/// An operation that class-level permissions control.
public enum ClassOperation: String, Sendable, CaseIterable {
    case find, count, get, create, update, delete, addField
}

/// The class-level permissions (CLP): the principals that may perform each operation on a class.
public struct ClassLevelPermissions: Sendable, Hashable {
    /// The permissions for one operation.
    public struct Entry: Sendable, Hashable {
        /// The principals that are allowed: `*`, user ids and `role:<name>`.
        public var principals: Set<Name> = []
        /// Whether every signed-in user is allowed.
        public var requiresAuthentication = false
        /// Fields that point to users. Those users may perform the operation on the object.
        public var pointerFields: [Name] = []

        /// An entry that allows everybody.
        public static let open = Entry(principals: ["*"])
    }

    /// The permissions by operation. Without an entry, only ``readUserFields`` and ``writeUserFields`` can allow it.
    public var entries: [ClassOperation: Entry]
    /// Fields whose users may read the object.
    public var readUserFields: [Name] = []
    /// Fields whose users may write the object.
    public var writeUserFields: [Name] = []
    /// Hidden fields, by the principals that they are hidden from.
    public var protectedFields: [Name: [Name]] = [:]
    /// The ACL of new objects without one, by principal, or nil if they are public.
    public var defaultACL: JSONObject?
    /// The permissions as JSON, with members that aren't understood, for responses and the `_SCHEMA` row.
    public var source: JSONObject

    /// The permissions of a class without any: everybody may do everything.
    public static let open: ClassLevelPermissions = {
        var permissions = ClassLevelPermissions(json: [:])
        for operation in ClassOperation.allCases {
            permissions.entries[operation] = .open
            permissions.source[operation.rawValue] = ["*": true]
        }
        permissions.source["protectedFields"] = ["*": []]
        return permissions
    }()

    /// Parses permissions in the format of the schemas API. Entries that aren't understood allow nobody.
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

    /// Returns the permissions for an operation.
    public subscript(operation: ClassOperation) -> Entry { entries[operation] ?? Entry() }

    /// Whether everybody (`*`) or one of the principals may perform an operation on all objects. Ignores
    /// ``Entry/requiresAuthentication``.
    public func admits(_ principals: [Name], to operation: ClassOperation) -> Bool {
        let entry = self[operation]
        return entry.principals.contains("*") || principals.contains { entry.principals.contains($0) }
    }

    /// Returns the pointer fields whose users may perform an operation on the objects that refer to them.
    public func userFields(for operation: ClassOperation) -> [Name] {
        switch operation {
        case .get, .find, .count: self[operation].pointerFields + readUserFields
        case .update, .delete, .addField: self[operation].pointerFields + writeUserFields
        case .create: []
        }
    }
}
