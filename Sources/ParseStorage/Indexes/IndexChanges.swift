import JSON
import ParseModel

/// Which indexes a change of a class drops and makes.
struct IndexChanges {
    /// Names of those that go, those that are made anew included.
    private(set) var dropped: [String] = []
    /// Those that are made, by name.
    private(set) var made: JSONObject = [:]

    /// What every class that ever got an index lists first, as MongoDB has it; it is the primary key.
    static let primary: Name = "_id_"

    /// Compares a class with what it will be.
    ///
    /// Columns take their indexes with them: an index on a field that goes is taken out of `wanted`, and one on a field
    /// that gets another type is made anew.
    init(from current: ClassSchema?, to wanted: inout ClassSchema) {
        let known = current?.indexes ?? [:]
        for (name, fields) in wanted.indexes where name != Self.primary {
            guard known[name] == fields else {
                if known[name] != nil { dropped.append(name.text) }
                made[name] = fields
                continue
            }
            var isLost = false
            var isChanged = false
            for key in IndexOptions.keys(of: fields.objectValue ?? [:]) {
                let field = current.map { IndexDefinition.field(key, of: $0) } ?? key
                guard let type = current?.type(of: field) else { continue }
                if wanted.fields[field] == nil { isLost = true }
                if wanted.type(of: field) != type { isChanged = true }
            }
            guard isChanged else { continue }
            dropped.append(name.text)
            if isLost { wanted.indexes[name] = nil } else { made[name] = fields }
        }
        for name in known.keys where name != Self.primary && wanted.indexes[name] == nil {
            // By their bytes: two indexes whose names look alike are two.
            if !dropped.contains(where: { $0.hasSameBytes(as: name.text) }) { dropped.append(name.text) }
        }
    }
}
