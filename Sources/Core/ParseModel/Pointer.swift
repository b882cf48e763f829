import JSON

/// A reference to one object.
public struct Pointer: Hashable, Sendable {
    /// The object's class.
    public var className: String
    /// The object's id within its class.
    public var objectId: String

    public init(className: String, objectId: String) {
        self.className = className
        self.objectId = objectId
    }

    /// Reads `{"__type":"Pointer","className":…,"objectId":…}`, or an embedded object of the same shape.
    public init?(json: JSONValue) {
        guard let type = json["__type"]?.stringValue, type == "Pointer" || type == "Object",
            let className = json["className"]?.stringValue, let objectId = json["objectId"].flatMap(Self.id)
        else { return nil }
        self.init(className: className, objectId: objectId)
    }

    /// The id that a value stands for: a text, or a number, whose digits are the text.
    public static func id(_ value: JSONValue) -> String? {
        switch value {
        case .string(let text): text
        case .number: value.text
        default: nil
        }
    }

    /// The form that travels.
    public var json: JSONValue {
        .object(["__type": "Pointer", "className": .string(className), "objectId": .string(objectId)])
    }

    /// Names are compared by their bytes.
    public static func == (left: Pointer, right: Pointer) -> Bool {
        left.objectId.hasSameBytes(as: right.objectId) && left.className.hasSameBytes(as: right.className)
    }

    /// By the class, too: a list may have one id in very many classes, which need not be there.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(Name(objectId))
        hasher.combine(Name(className))
    }
}
