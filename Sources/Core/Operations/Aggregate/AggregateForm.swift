import JSON
import ParseModel
import ParseStorage

struct AggregateForm {
    /// Whether dates are written as extended JSON.
    let hasRawValues: Bool
    /// Whether fields have the names under which MongoDB stores them.
    let hasRawNames: Bool

    init(_ parameters: JSONObject) {
        hasRawValues = parameters["rawValues"]?.isTruthy ?? false
        hasRawNames = parameters["rawFieldNames"]?.isTruthy ?? false
    }

    private static let storedNames: [Name: Name] = [
        "objectId": "_id", "createdAt": "_created_at", "updatedAt": "_updated_at",
    ]

    /// A value as it travels: without names that no field has, an object's own dates as text, files with their URLs.
    ///
    /// - Parameter isDocument: Whether the value is a result, not a part of one.
    func published(_ value: JSONValue, _ links: FileLinks, isDocument: Bool) -> JSONValue {
        switch value {
        case .object(let object):
            if hasRawValues, let date = ExtendedJSON.date(value) { return date }
            let isNamed = hasRawNames && (isDocument || object["objectId"] != nil && object["__type"] == nil)
            var published: JSONObject = [:]
            for (field, content) in object where isPublished(field) {
                let (name, member) = isNamed ? Self.stored(field, content) : (field, content)
                if isDocument, !hasRawValues, Self.isOwnDate(name), let iso = member["iso"] {
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

    private static func isOwnDate(_ name: Name) -> Bool {
        ["createdAt", "updatedAt", "_created_at", "_updated_at"].contains(name)
    }

    /// A field as MongoDB stores it: a pointer is the text `Person$id`, under another name.
    private static func stored(_ name: Name, _ value: JSONValue) -> (Name, JSONValue) {
        if let pointer = Pointer(json: value) {
            return (Name("_p_" + name.text), .string("\(pointer.className)$\(pointer.objectId)"))
        }
        return (storedNames[name] ?? name, value)
    }
}
