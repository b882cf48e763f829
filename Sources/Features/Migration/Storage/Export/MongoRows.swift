import JSON
import ParseModel
import ParseStorage
import Postgres

/// Formats the rows of a class as parse-server stores them in MongoDB.
struct MongoRows: ExportRows {
    let plan: ExportPlan
    let className: String

    private static let names: [Name: String] = [
        "objectId": "_id", "createdAt": "_created_at", "updatedAt": "_updated_at",
    ]
    private static let ownNames: [Name: [Name: String]] = [
        "_Session": ["sessionToken": "_session_token"],
        "_Audience": ["lastUsed": "_last_used", "timesUsed": "times_used"],
    ]

    func write(_ result: PostgresResult, _ row: Int, into writer: inout JSONWriter) {
        let start = writer.count
        for (index, (column, type)) in plan.fields.enumerated() where !result.isNull(row, index) {
            write(result, row, index, column.name, type, into: &writer)
        }
        if plan.hasACL { writePermissions(result, row, plan.fields.count, into: &writer) }
        if writer.count > start {
            writer.replace(at: start, with: UInt8(ascii: "{"))
        } else {
            writer.byte(UInt8(ascii: "{"))
        }
        writer.byte(UInt8(ascii: "}"))
    }

    private func key(_ name: String, _ writer: inout JSONWriter) {
        writer.byte(UInt8(ascii: ","))
        writer.string(name)
        writer.byte(UInt8(ascii: ":"))
    }

    private func write(
        _ result: PostgresResult, _ row: Int, _ index: Int, _ name: String, _ type: FieldType?,
        into writer: inout JSONWriter
    ) {
        if className == "_User", name == "authData" {
            guard let providers = result.json(row, index)?.objectValue else { return }
            for (provider, data) in providers {
                key("_auth_data_\(provider)", &writer)
                ExtendedJSONWriter.nested(data, into: &writer)
            }
            return
        }
        if case .pointer(let target)? = type {
            key("_p_\(name)", &writer)
            return writer.string("\(target)$\(result.string(row, index) ?? "")")
        }
        key(Self.ownNames[Name(className)]?[Name(name)] ?? Self.names[Name(name)] ?? name, &writer)
        switch type {
        case .string?, .file?: writer.string(result.string(row, index) ?? "")
        case .number?: ExtendedJSONWriter.number(result.double(row, index) ?? 0, into: &writer)
        case .boolean?: writer.bool(result.bool(row, index) ?? false)
        case .date?:
            ExtendedJSONWriter.date(ParseDate(milliseconds: result.timestamp(row, index) ?? 0), into: &writer)
        case .geoPoint?:
            write([result.point(row, index) ?? (x: 0, y: 0)], into: &writer)
        case .polygon?:
            writer.raw("{\"type\":\"Polygon\",\"coordinates\":[[")
            write(result.polygon(row, index) ?? [], into: &writer)
            writer.raw("]]}")
        case .bytes?, .object?, .array?, .pointer?, .acl?, .relation?, nil:
            ExtendedJSONWriter.nested(result.json(row, index) ?? .null, into: &writer)
        }
    }

    private func write(_ points: [(x: Double, y: Double)], into writer: inout JSONWriter) {
        for (index, point) in points.enumerated() {
            if index > 0 { writer.byte(UInt8(ascii: ",")) }
            writer.byte(UInt8(ascii: "["))
            ExtendedJSONWriter.coordinate(point.x, into: &writer)
            writer.byte(UInt8(ascii: ","))
            ExtendedJSONWriter.coordinate(point.y, into: &writer)
            writer.byte(UInt8(ascii: "]"))
        }
    }

    /// Writes the lists that aren't NULL. If neither is NULL, also writes the `_acl` that parse-server still stores for
    /// older versions.
    private func writePermissions(_ result: PostgresResult, _ row: Int, _ index: Int, into writer: inout JSONWriter) {
        let readers = result.textArray(row, index)
        let writers = result.textArray(row, index + 1)
        for (name, list) in [("_rperm", readers), ("_wperm", writers)] {
            guard let list else { continue }
            key(name, &writer)
            writer.array(list.map { .string($0) })
        }
        guard let readers, let writers else { return }
        var legacy: JSONObject = [:]
        for reader in readers { legacy[Name(reader)] = ["r": true] }
        for name in writers {
            var entry = legacy[Name(name)]?.objectValue ?? [:]
            entry["w"] = true
            legacy[Name(name)] = .object(entry)
        }
        key("_acl", &writer)
        writer.object(legacy)
    }
}

/// Class definitions in the format of parse-server's MongoDB collection `_SCHEMA`.
enum MongoSchema {
    /// Returns the document of a class, in canonical Extended JSON.
    static func document(of schema: ClassSchema, indexes: JSONObject) -> [UInt8] {
        var document: JSONObject = ["_id": .string(schema.name)]
        var options: JSONObject = [:]
        for (name, field) in schema.fields where field.type != .acl {
            if schema.name == "_User", name == "password" { continue }
            document[name] = .string(type(field.type))
            var option = field.json
            option["type"] = nil
            option["targetClass"] = nil
            if !option.isEmpty { options[name] = .object(option) }
        }
        var metadata: JSONObject = [:]
        if let permissions = schema.permissions { metadata["class_permissions"] = .object(permissions.source) }
        if !indexes.isEmpty { metadata["indexes"] = .object(indexes) }
        if !options.isEmpty { metadata["fields_options"] = .object(options) }
        if !metadata.isEmpty { document["_metadata"] = .object(metadata) }
        var writer = JSONWriter()
        ExtendedJSONWriter.nested(.object(document), into: &writer)
        return writer.bytes
    }

    private static func type(_ type: FieldType) -> String {
        switch type {
        case .pointer(let target): "*\(target)"
        case .relation(let target): "relation<\(target)>"
        default: type.name.lowercased()
        }
    }
}
