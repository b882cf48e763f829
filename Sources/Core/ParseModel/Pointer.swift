import JSON

/// A reference to an object.
public struct Pointer: Hashable, Sendable {
    public var className: String
    public var objectId: String

    public init(className: String, objectId: String) {
        self.className = className
        self.objectId = objectId
    }

    /// Parses `{"__type":"Pointer","className":…,"objectId":…}`, or an embedded object with the `__type` `Object`.
    public init?(json: JSONValue) {
        guard let type = json["__type"]?.stringValue, type == "Pointer" || type == "Object",
            let className = json["className"]?.stringValue, let objectId = json["objectId"].flatMap(Self.id)
        else { return nil }
        self.init(className: className, objectId: objectId)
    }

    /// Returns the object id in a value: a string, or a number as text. Returns nil for anything else.
    public static func id(_ value: JSONValue) -> String? {
        switch value {
        case .string(let text): text
        case .number: value.text
        default: nil
        }
    }

    /// The pointer in the format of requests and responses.
    public var json: JSONValue {
        .object(["__type": "Pointer", "className": .string(className), "objectId": .string(objectId)])
    }

    /// Compares ids and class names by bytes.
    public static func == (left: Pointer, right: Pointer) -> Bool {
        left.objectId.hasSameBytes(as: right.objectId) && left.className.hasSameBytes(as: right.className)
    }

    /// Includes the class. Otherwise, the same id with many classes, which need not exist, would cause collisions.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(Name(objectId))
        hasher.combine(Name(className))
    }
}
