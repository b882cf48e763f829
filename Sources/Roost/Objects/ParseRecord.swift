import JSON

/// A class of the app as a Swift type: its properties are fields.
///
/// ```swift
/// struct Review: ParseRecord {
///     static let className = "Review"
///     var objectId: String?
///     var stars: Int?
/// }
/// ```
///
/// Fields may be missing in stored objects, and in those that clients send: properties are optional unless clients must
/// send them. Fields that the type does not have stay as they are.
public protocol ParseRecord: Codable, Sendable {
    /// The name of the class.
    static var className: String { get }
    /// The id; nil for one that is not stored yet.
    var objectId: String? { get set }
}

extension ParseRecord {
    /// The record of an object.
    ///
    /// - Throws: `DecodingError` for fields of other types.
    init(_ object: ParseObject) throws { self = try ValueDecoder.decode(from: .object(object.json)) }

    /// The record as the fields of an object.
    func fields() throws -> JSONObject {
        var fields = try ValueEncoder.encodeObject(self)
        for key in ["objectId", "createdAt", "updatedAt", "className", "__type"] as [Name] { fields[key] = nil }
        return fields
    }
}
