import JSON
import OrderedCollections
import ParseModel
import ParseStorage

/// Plans the classes of a source: their fields, permissions and indexes.
struct ClassPlanner {
    /// A class to import, with or without objects in the source.
    struct Planned: Sendable {
        /// The class in the source, without fields and indexes that can't be stored.
        var schema: ClassSchema
        /// Notes on skipped fields and indexes. The values of skipped fields are reported per object.
        var notes: [String] = []
    }

    /// Field types that override those of the source, by class and field.
    var types: [Name: [Name: FieldType]]

    /// Returns whether a class's field types must be inferred from its objects, because the source has no schema.
    func needsInference(_ name: Name, _ source: SourceSchema) -> Bool {
        guard source.classes[name] == nil else { return false }
        return !SystemClass.volatileNames.contains(name)
    }

    /// Returns the plan for a class.
    ///
    /// - Parameter inferred: The types found in its objects, if the source has no schema for it.
    func plan(_ name: Name, _ source: SourceSchema, _ inferred: TypeInference?) -> Planned {
        var planned = Planned(schema: ClassSchema(name: name.text))
        guard !SystemClass.volatileNames.contains(name) else { return planned }
        var fields = source.classes[name]?.fields ?? [:]
        if let inferred {
            for (field, types) in inferred.types
            where planned.schema.fields[field] == nil && !Self.isNoField(field, of: name) {
                guard types.count == 1, let type = types.keys.first else {
                    let counts = types.map { "\($0.key) (\($0.value) objects)" }.sorted().joined(separator: ", ")
                    if self.types[name]?[field] == nil, Self.fault(field, .string, of: name) == nil {
                        planned.notes.append(
                            "\(name).\(field) is skipped because its values have several types: \(counts). To import it, "
                                + "set its type with --type \(name).\(field)=TYPE")
                    }
                    continue
                }
                // Keys that exist only in MongoDB's storage format aren't fields.
                if !field.hasPrefix("_") { fields[field] = Field(type) }
            }
        }
        for (field, type) in types[name] ?? [:] { fields[field] = Field(type) }
        for (field, value) in fields where value.type != .acl {
            guard let known = planned.schema.fields[field] else {
                if let reason = Self.fault(field, value.type, of: name) {
                    planned.notes.append("\(name).\(field) \(reason): it is skipped")
                } else {
                    planned.schema.fields[field] = value
                }
                continue
            }
            // Default fields take the options of the source if the types agree.
            if known.type == value.type { planned.schema.fields[field] = value }
        }
        planned.schema.permissions = source.classes[name]?.permissions.map(ClassLevelPermissions.init(json:))
        planned.schema.indexes = indexes(source.classes[name]?.indexes ?? [:], &planned)
        return planned
    }

    private static func isNoField(_ key: Name, of className: Name) -> Bool {
        key == "__type" || key == "className"
            || className == "_User" && (key == "bcryptPassword" || key == "sessionToken")
    }

    private static func fault(_ field: Name, _ type: FieldType, of className: Name) -> String? {
        guard Names.isFieldName(field.text, in: className.text) else { return "has an invalid field name" }
        let stored = type.isRelation ? TableLayout.joinTable(field: field.text, className: className.text) : field.text
        return stored.utf8.count > ImportTable.longestName
            ? "has a name that is longer than \(ImportTable.longestName) bytes" : nil
    }

    private func indexes(_ indexes: JSONObject, _ planned: inout Planned) -> JSONObject {
        var kept: JSONObject = [:]
        for (name, definition) in indexes {
            guard let object = definition.objectValue else { continue }
            let columns = IndexOptions.columns(of: object)
            let isKnown = columns.keys.allSatisfy { planned.schema.fields[$0] != nil }
            let isValid = (try? IndexOptions(object, of: planned.schema)) != nil
            if name == "_id_" || isKnown && isValid {
                kept[name] = definition
            } else {
                planned.notes.append("\(planned.schema.name): the index \(name) is skipped: it doesn't fit the class")
            }
        }
        return kept
    }

    /// Returns the reason why a class can't be created, or nil if it can.
    static func fault(ofClass name: Name) -> String? {
        if name.utf8.count > ImportTable.longestName {
            return "its name is longer than \(ImportTable.longestName) bytes"
        }
        let isKnown = Names.isClassName(name.text) || SystemClass.volatileNames.contains(name)
        return isKnown ? nil : "its name is not a valid class name"
    }
}
