import JSON
import ParseModel
import ParseStorage

struct AggregateForm {
    /// Whether dates are returned as extended JSON.
    let hasRawValues: Bool
    /// Whether fields have their MongoDB storage names.
    let hasRawNames: Bool

    init(_ parameters: JSONObject) {
        hasRawValues = parameters["rawValues"]?.isTruthy ?? false
        hasRawNames = parameters["rawFieldNames"]?.isTruthy ?? false
    }

    private static let storedNames: [Name: Name] = [
        "objectId": "_id", "createdAt": "_created_at", "updatedAt": "_updated_at",
    ]

    /// Converts a value for the response: removes internal fields, adds file URLs, renames fields if raw names were
    /// requested, and writes a result's creation and update dates as strings unless raw values were requested.
    ///
    /// - Parameter isDocument: Whether the value is a whole result.
    func published(_ value: JSONValue, _ links: FileLinks, isDocument: Bool) -> JSONValue {
        switch value {
        case .object(let object):
            if hasRawValues, let date = ExtendedJSON.date(value) { return date }
            let isNamed = hasRawNames && (isDocument || object["objectId"] != nil && object["__type"] == nil)
            var published: JSONObject = [:]
            for (field, content) in object where isPublished(field) {
                let (name, member) = isNamed ? Self.stored(field, content) : (field, content)
                if isDocument, !hasRawValues, Self.ownDates.contains(name), let iso = member["iso"] {
                    published[name] = iso
                } else {
                    published[name] = self.published(member, links, isDocument: false)
                }
            }
            if object["__type"] == "File", let name = object["name"]?.stringValue {
                published["url"] = .string(links.url(name))
            }
            return .object(published)
        case .array(let list): return .array(list.map { published($0, links, isDocument: false) })
        default: return value
        }
    }

    private func isPublished(_ name: Name) -> Bool {
        name == "__type" || Names.isIdentifier(hasRawNames ? String(name.text.drop { $0 == "_" }) : name.text)
    }

    private static let ownDates: Set<Name> = ["createdAt", "updatedAt", "_created_at", "_updated_at"]

    /// Renames a field as MongoDB stores it. A pointer becomes the string `Person$id` under the prefix `_p_`.
    private static func stored(_ name: Name, _ value: JSONValue) -> (Name, JSONValue) {
        if let pointer = Pointer(json: value) {
            return (Name("_p_" + name.text), .string("\(pointer.className)$\(pointer.objectId)"))
        }
        return (storedNames[name] ?? name, value)
    }
}
