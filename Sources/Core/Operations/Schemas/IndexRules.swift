import JSON
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

extension SchemaRules {
    static func indexes(_ value: JSONValue?, of schema: ClassSchema, _ configuration: Configuration)
        throws(ParseError)
        -> JSONObject
    {
        var indexes = schema.indexes
        guard let changes = value?.objectValue, !changes.isEmpty else { return indexes }
        for (name, json) in changes {
            if json["__op"]?.stringValue == "Delete" {
                guard indexes[name] != nil else {
                    throw ParseError(ParseError.invalidQuery, "Index \(name) does not exist, cannot delete.")
                }
                indexes[name] = nil
                continue
            }
            guard indexes[name] == nil else {
                throw ParseError(ParseError.invalidQuery, "Index \(name) exists, cannot update.")
            }
            // Rejects an invalid index before anything changes.
            _ = try IndexOptions(json.objectValue ?? [:], of: schema)
            let columns = IndexOptions.columns(of: json.objectValue ?? [:])
            guard !columns.isEmpty else {
                throw ParseError(
                    ParseError.invalidJSON, "Index \(name) has no fields. Add one, such as {\"title\": 1}.")
            }
            for column in columns.keys where !configuration.databaseOptions.disableIndexFieldValidation {
                let field = column.dropping(prefix: "_p_").map { Name($0) } ?? column
                // `_User` stores only a password hash, in an internal column.
                guard schema.fields[field] != nil, schema.name != "_User" || field != "password" else {
                    throw ParseError(ParseError.invalidQuery, "Field \(column) does not exist, cannot add index.")
                }
            }
            indexes[name] = json
        }
        indexes["_id_"] = ["_id": 1]
        return indexes
    }
}
