import JSON
public import ParseModel

/// An error with a Parse error code and a message. If cloud code throws one to reject a request, the client gets it.
public typealias ParseError = ParseModel.ParseError

/// A pointer to an object of a class.
public struct ParsePointer: Codable, Sendable, Hashable {
    private let type: String

    private enum CodingKeys: String, CodingKey {
        case type = "__type"
        case className, objectId
    }

    /// The class of the referenced object.
    public let className: String
    /// The id of the referenced object.
    public let objectId: String

    /// Creates a pointer to an object by its class and id.
    public init(_ className: String, _ objectId: String) {
        type = "Pointer"
        self.className = className
        self.objectId = objectId
    }
}

/// A location on the earth.
public struct ParseGeoPoint: Codable, Sendable, Hashable {
    private let type: String

    private enum CodingKeys: String, CodingKey {
        case type = "__type"
        case latitude, longitude
    }

    /// The latitude in degrees, from −90 to 90.
    public let latitude: Double
    /// The longitude in degrees, from −180 to 180.
    public let longitude: Double

    /// Creates a point from degrees.
    public init(latitude: Double, longitude: Double) {
        type = "GeoPoint"
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// A reference to a stored file.
public struct ParseFile: Codable, Sendable, Hashable {
    private let type: String

    private enum CodingKeys: String, CodingKey {
        case type = "__type"
        case name, url
    }

    /// The unique name of the stored file.
    public let name: String
    /// The download URL, or nil if unknown.
    public let url: String?

    /// Creates a reference to a stored file by its name.
    public init(name: String, url: String? = nil) {
        type = "File"
        self.name = name
        self.url = url
    }
}

/// An access control list: the read and write rights on an object.
public struct ParseACL: Codable, Sendable, Hashable {
    private struct Entry: Codable, Sendable, Hashable {
        var read: Bool?
        var write: Bool?
    }

    private var entries: [String: Entry] = [:]

    /// Creates an ACL without entries: only the master key has access.
    public init() {}

    public init(from decoder: any Decoder) throws { entries = try [String: Entry](from: decoder) }
    public func encode(to encoder: any Encoder) throws { try entries.encode(to: encoder) }

    /// Sets the read and write access of a user, a role or the public. Removes the entry if both are false.
    ///
    /// - Parameters:
    ///   - principal: A user id, `role:` followed by a role name, or `*` for the public.
    ///   - read: Whether the principal may read the object.
    ///   - write: Whether the principal may change and delete the object.
    public mutating func allow(_ principal: String, read: Bool = false, write: Bool = false) {
        guard read || write else {
            entries[principal] = nil
            return
        }
        entries[principal] = Entry(read: read ? true : nil, write: write ? true : nil)
    }

    /// Returns whether the ACL has an entry that lets this user, role or the public (`*`) read. Roles of a user aren't
    /// considered.
    public func canRead(_ principal: String) -> Bool { entries[principal]?.read ?? false }

    /// Returns whether the ACL has an entry that lets this user, role or the public (`*`) write. Roles of a user aren't
    /// considered.
    public func canWrite(_ principal: String) -> Bool { entries[principal]?.write ?? false }
}
