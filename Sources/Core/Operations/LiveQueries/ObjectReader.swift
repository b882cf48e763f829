import JSON
import ParseModel
import ParseStorage

/// Applies a caller's ``ReadAccess`` to objects in memory.
package struct ObjectReader: Sendable {
    private let access: ReadAccess
    private let seesEverything: Bool
    private let condition: FilterMatcher?
    private let files: [Name]

    /// Credentials, which are never sent.
    private static let secrets: Set<Name> = ["sessionToken", "password"]

    /// - Throws: `FilterMatcherError` if permissions need the database.
    package init(_ access: ReadAccess, seesEverything: Bool, schema: ClassSchema) throws(FilterMatcherError) {
        self.access = access
        self.seesEverything = seesEverything
        files = schema.fields.compactMap { $0.value.type == .file ? $0.key : nil }
        condition = access.filter == .everything ? nil : try FilterMatcher(access.filter, schema: schema)
    }

    /// Whether the caller may read an object.
    ///
    /// - Throws: `FilterMatcherError.tooMuchWork` if the check exceeds its step budget.
    package func mayRead(_ object: JSONObject, _ budget: inout MatchBudget) throws(FilterMatcherError) -> Bool {
        if let readers = access.readers, let acl = object["ACL"], !acl.isNull {
            // Users with many roles cost more steps.
            try budget.spend(readers.count >> 2)
            // As in the database, an invalid ACL admits no caller.
            guard readers.contains(where: { acl[$0]?["read"]?.isTruthy == true }) else { return false }
        }
        return try condition?.matches(object, &budget) ?? true
    }

    /// Removes the fields that the caller may not see, and adds file URLs.
    func visible(_ object: JSONObject, _ links: FileLinks) -> JSONObject {
        let hidden = hidden(in: object)
        var object = object
        for field in files {
            guard var file = object[field]?.objectValue, let name = file["name"]?.stringValue else { continue }
            file["url"] = .string(links.url(name))
            object[field] = .object(file)
        }
        return object.filter { key, _ in
            !Self.secrets.contains(key) && !hidden.contains(key) && (seesEverything || key != "authData")
        }
    }

    private func hidden(in object: JSONObject) -> Set<Name> {
        var hidden = access.hidden
        for rule in access.ownerRules where applies(rule, to: object) { hidden.formIntersection(rule.hidden) }
        return hidden
    }

    private func applies(_ rule: ReadAccess.OwnerRule, to object: JSONObject) -> Bool {
        guard let value = object[rule.field ?? "objectId"] else { return false }
        if rule.field == nil { return rule.userId.hasSameBytes(as: value.stringValue) }
        return (value.arrayValue ?? [value]).contains {
            rule.userId.hasSameBytes(as: Pointer(json: $0)?.objectId)
        }
    }
}
