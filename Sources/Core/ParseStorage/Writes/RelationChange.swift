import JSON
import OrderedCollections
import ParseModel

/// The rows to add to and remove from a relation's join table.
struct RelationChange {
    let table: String
    /// For each object id, whether the object is in the relation afterward.
    private var members: OrderedDictionary<Name, Bool> = [:]

    var added: [String] { members.filter(\.value).keys.elements.texts }
    var removed: [String] { members.filter { !$0.value }.keys.elements.texts }

    /// Returns the relation changes made by the operations of a write.
    static func all(
        in operations: OrderedDictionary<Name, FieldOperation>, of schema: ClassSchema
    ) -> [RelationChange] {
        var changes: [RelationChange] = []
        for (field, operation) in operations where operation.isOnRelation {
            guard case .relation = schema.type(of: field.text) else { continue }
            var change = RelationChange(table: TableLayout.joinTable(field: field.text, className: schema.name))
            change.add(operation)
            if !change.members.isEmpty { changes.append(change) }
        }
        return changes
    }

    /// Applies an operation. The last operation on an object wins.
    private mutating func add(_ operation: FieldOperation) {
        switch operation {
        case .addRelation(let pointers):
            for pointer in pointers { members[Name(pointer.objectId)] = true }
        case .removeRelation(let pointers):
            for pointer in pointers { members[Name(pointer.objectId)] = false }
        case .batch(let operations):
            for operation in operations { add(operation) }
        default: break
        }
    }
}
