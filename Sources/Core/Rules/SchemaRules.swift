import JSON
import OrderedCollections
import ParseModel
import ServerConfiguration

/// Validates and applies schema changes, without I/O.
package enum SchemaRules {
    package static func newFields(_ value: JSONValue?, of className: String, known: ClassSchema) throws(ParseError)
        -> OrderedDictionary<Name, Field>
    {
        var fields: OrderedDictionary<Name, Field> = [:]
        for (name, json) in value?.objectValue ?? [:] {
            guard Names.isFieldName(name.text, in: className) else {
                throw ParseError(ParseError.invalidKeyName, "invalid field name: \(name)")
            }
            guard !SystemClass.isDefaultField(name.text, of: className) else {
                throw ParseError(136, "field \(name) cannot be added")
            }
            fields[name] = try field(json, name: name.text, of: className)
        }
        try checkPoints(fields, in: known)
        return fields
    }

    package static func field(_ json: JSONValue, name: String, of className: String) throws(ParseError) -> Field {
        guard let typeName = json["type"]?.stringValue else {
            throw ParseError(ParseError.invalidJSON, "invalid JSON")
        }
        if typeName == "Pointer" || typeName == "Relation" {
            guard let target = json["targetClass"], target.isTruthy else {
                throw ParseError(135, "type \(typeName) needs a class name")
            }
            guard let target = target.stringValue else { throw ParseError(ParseError.invalidJSON, "invalid JSON") }
            guard Names.isClassName(target) else {
                throw ParseError(
                    ParseError.invalidClassName,
                    "Invalid classname: \(target), classnames can only have alphanumeric characters and _, and must "
                        + "start with an alpha character ")
            }
        }
        guard let type = FieldType(name: typeName, targetClass: json["targetClass"]?.nameValue), type != .acl else {
            throw ParseError(ParseError.incorrectType, "invalid field type: \(typeName)")
        }
        var field = Field(type, required: json["required"]?.boolValue)
        // A null default counts as no default. Assigning nil directly would store a JSON null.
        if let value = json["defaultValue"], !value.isNull { field.defaultValue = value }
        if let value = field.defaultValue {
            let given = try FieldType.inferred(from: value)
            guard given == type else {
                throw ParseError(
                    ParseError.incorrectType,
                    "schema mismatch for \(className).\(name) default value; expected \(type) but got "
                        + "\(given.map(\.description) ?? "undefined")")
            }
            if type.isRelation {
                throw ParseError(
                    ParseError.incorrectType, "The 'default value' option is not applicable for \(type)")
            }
        }
        if field.isRequired, type.isRelation {
            throw ParseError(ParseError.incorrectType, "The 'required' option is not applicable for \(type)")
        }
        return field
    }

    /// Adds, removes and changes fields of a class. Leaves the schema unchanged if any change is rejected.
    package static func apply(fields value: JSONValue?, to schema: inout ClassSchema) throws(ParseError) {
        let changes = value?.objectValue ?? [:]
        var added: JSONObject = [:]
        for (name, json) in changes {
            let isRemoval = json["__op"]?.stringValue == "Delete"
            let known = schema.fields[name]
            if isRemoval {
                guard !SystemClass.isDefaultField(name.text, of: schema.name) else {
                    throw ParseError(136, "field \(name) cannot be changed")
                }
                guard known != nil else {
                    throw ParseError(
                        ParseError.invalidSchemaOperation, "Field \(name) does not exist, cannot delete.")
                }
                continue
            }
            guard let known else {
                added[name] = json
                continue
            }
            guard
                FieldType(name: json["type"]?.stringValue ?? "", targetClass: json["targetClass"]?.nameValue)
                    == known.type
            else {
                throw ParseError(ParseError.invalidSchemaOperation, "Field \(name) exists, cannot update.")
            }
        }
        var changed = schema
        for (name, json) in changes where json["__op"]?.stringValue == "Delete" { changed.fields[name] = nil }
        let new = try newFields(.object(added), of: schema.name, known: changed)
        for (name, json) in changes where changed.fields[name] != nil {
            changed.fields[name] = try field(json, name: name.text, of: schema.name)
        }
        for (name, field) in new { changed.fields[name] = field }
        schema = changed
    }

    private static func checkPoints(_ fields: OrderedDictionary<Name, Field>, in known: ClassSchema)
        throws(ParseError)
    {
        var points = known.fields.filter { $0.value.type == .geoPoint }.map(\.key)
        for (name, field) in fields where field.type == .geoPoint {
            if let first = points.first {
                throw ParseError(
                    ParseError.incorrectType,
                    "currently, only one GeoPoint field may exist in an object. Adding \(name) when \(first) "
                        + "already exists.")
            }
            points.append(name)
        }
    }
}
