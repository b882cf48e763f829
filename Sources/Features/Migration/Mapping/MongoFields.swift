import BSON
import JSON
import ParseModel
import Postgres

/// Converts MongoDB values to column values.
enum MongoFields {
    /// Returns the id of an object, or nil if the value can't be an id.
    static func id(_ value: BSONValue) -> String? {
        switch value {
        case .string(let text): text
        case .objectID(let id): id.hexadecimal
        case .int32, .int64, .double: value.integerValue.map { "\($0)" }
        default: nil
        }
    }

    /// Parses the oldest ACL format, `{"id":{"r":true,"w":true}}`, or returns nil if the value isn't a document.
    static func acl(_ value: BSONValue) -> ACL? {
        guard let document = value.documentValue else { return nil }
        var acl = ACL()
        for member in document.members {
            let flags = member.value.documentValue
            if case .bool(true)? = flags?["r"] { acl.readers.append(member.key) }
            if case .bool(true)? = flags?["w"] { acl.writers.append(member.key) }
        }
        return acl
    }

    /// Returns the value for a column, or nil for null. Values that can't be stored become nil and are added to
    /// `losses`.
    static func parameter(_ value: BSONValue, _ type: FieldType, _ field: String, _ losses: inout Losses)
        -> PostgresParameter?
    {
        switch (type, value) {
        case (_, .null), (_, .undefined): return nil
        case (.string, .string(let text)), (.string, .symbol(let text)):
            return .text(MongoValues.text(text, field, &losses))
        case (.string, .objectID(let id)): return .text(id.hexadecimal)
        case (.number, .double), (.number, .int32), (.number, .int64), (.number, .decimal128):
            return MongoValues.number(value, field, &losses).map { .double($0) }
        case (.boolean, .bool(let flag)): return .bool(flag)
        case (.date, .date(let milliseconds)):
            if MongoValues.isDate(milliseconds) { return .timestamp(milliseconds: milliseconds) }
            losses.add(field, "a date that is out of range", MongoValues.reported(value))
            return nil
        case (.object, .document), (.array, .array):
            return .jsonb(MongoValues.json(value, field, &losses).serialized())
        case (.pointer(let target), _):
            if let pointer = pointer(value), pointer.className.hasSameBytes(as: target.text) {
                return .text(MongoValues.text(pointer.objectId, field, &losses))
            }
        case (.file, .string(let name)): return .text(MongoValues.text(name, field, &losses))
        case (.file, .document(let document)):
            if let name = document["name"]?.stringValue { return .text(MongoValues.text(name, field, &losses)) }
        case (.geoPoint, .array(let pair)):
            if pair.count == 2, let x = pair[0].numberValue, let y = pair[1].numberValue {
                let place = GeoPoint(latitude: y, longitude: x)
                return PlaceFields.point(place, field, &losses, MongoValues.reported(value))
            }
        case (.geoPoint, .document(let document)):
            if let x = document["longitude"]?.numberValue, let y = document["latitude"]?.numberValue {
                let place = GeoPoint(latitude: y, longitude: x)
                return PlaceFields.point(place, field, &losses, MongoValues.reported(value))
            }
        case (.polygon, .document(let document)):
            if let corners = corners(document) {
                return PlaceFields.polygon(corners, field, &losses, MongoValues.reported(value))
            }
        case (.bytes, .binary(_, let bytes)): return self.bytes(Base64.encode(bytes))
        // Early servers stored bytes as base64 strings.
        case (.bytes, .string(let text)):
            if Base64.decode(text) != nil { return self.bytes(text) }
        case (.relation, _), (.acl, _): return nil
        default: break
        }
        losses.add(field, "expected \(type), found \(value.typeName)", MongoValues.reported(value))
        return nil
    }

    private static func bytes(_ base64: String) -> PostgresParameter {
        .jsonb((["__type": "Bytes", "base64": .string(base64)] as JSONObject).serialized())
    }

    /// Parses a pointer, either `Class$id` or the format used inside objects. Returns nil for other values.
    static func pointer(_ value: BSONValue) -> Pointer? {
        if let text = value.stringValue {
            guard let sign = text.utf8.firstIndex(of: UInt8(ascii: "$")) else { return nil }
            let id = text.utf8[text.utf8.index(after: sign)...]
            return Pointer(className: String(text[..<sign]), objectId: String(Substring(id)))
        }
        guard let document = value.documentValue, document["__type"]?.stringValue == "Pointer",
            let className = document["className"]?.stringValue, let id = document["objectId"]?.stringValue
        else { return nil }
        return Pointer(className: className, objectId: id)
    }

    /// Returns the corners of a polygon, or nil if the value isn't a polygon. GeoJSON puts the longitude first.
    static func corners(_ document: BSONDocument) -> [GeoPoint]? {
        let isGeoJSON = document["type"]?.stringValue == "Polygon"
        let lists = document["coordinates"]?.arrayValue ?? []
        let pairs = isGeoJSON ? lists.first?.arrayValue ?? [] : lists
        let corners = pairs.compactMap { pair -> GeoPoint? in
            guard let list = pair.arrayValue, list.count == 2, let first = list[0].numberValue,
                let second = list[1].numberValue
            else { return nil }
            return GeoPoint(latitude: isGeoJSON ? second : first, longitude: isGeoJSON ? first : second)
        }
        guard corners.count == pairs.count, corners.count >= 3 else { return nil }
        return corners
    }
}

/// Maps MongoDB's field names to Parse's.
enum MongoNames {
    /// Returns the field that a MongoDB key stands for.
    static func field(_ key: Name, of className: Name) -> Name {
        switch key {
        case "_id": "objectId"
        case "_created_at": "createdAt"
        case "_updated_at": "updatedAt"
        case "_session_token" where className == "_Session": "sessionToken"
        case "_expiresAt": "expiresAt"
        case "_last_used": "lastUsed"
        case "times_used" where className == "_Audience": "timesUsed"
        default: key.dropping(prefix: "_p_").map { Name($0) } ?? key
        }
    }
}
