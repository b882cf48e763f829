import JSON
import ParseModel

/// All classes as they were at one moment.
public struct SchemaSnapshot: Sendable {
    /// The classes by name.
    public internal(set) var classes: [Name: ClassSchema]
    /// Whether `$in` on a text field refuses values that are not texts, as servers since 9.6 do.
    var refusesMixedMembership = false
    /// Whether classes may lie on several servers.
    var isSpread = false

    /// The class, or nil when there is none.
    public subscript(name: String) -> ClassSchema? { classes[name] }

    /// The classes without the secrets that databases of early versions have in fields.
    var withoutSecrets: SchemaSnapshot {
        var snapshot = self
        for field in SystemClass.secretUserFields where classes["_User"]?.fields[field] != nil {
            snapshot.classes["_User"]?.fields[field] = nil
        }
        return snapshot
    }

    func hasJoinTable(_ table: String) -> Bool {
        let parts = table.split(separator: ":", maxSplits: 2)
        guard parts.count == 3, let field = classes[String(parts[2])]?.type(of: String(parts[1])) else { return false }
        return field.isRelation
    }
}
