import JSON
import ParseModel

/// All classes at one point in time.
public struct SchemaSnapshot: Sendable {
    public internal(set) var classes: [Name: ClassSchema]
    /// Whether `$in` on a string field rejects values other than strings and null, like parse-server since 9.6.
    var refusesMixedMembership = false
    /// Whether classes may be distributed over several servers.
    var isSpread = false

    /// Returns a class, or nil if it doesn't exist.
    public subscript(name: String) -> ClassSchema? { classes[name] }

    /// The classes without the secret fields that early versions of parse-server listed among the fields of `_User`.
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
