import JSON
public import ParseModel

/// An error with Parse's number for it and a text: thrown by cloud code, clients get it as it is.
public typealias ParseError = ParseModel.ParseError

/// A pointer to an object of a class.
public struct ParsePointer: Codable, Sendable, Hashable {
    private let type: String

    private enum CodingKeys: String, CodingKey {
        case type = "__type"
        case className, objectId
    }

    /// The class of the object.
    public let className: String
    /// The id of the object.
    public let objectId: String

    /// Points to an object.
    public init(_ className: String, _ objectId: String) {
        type = "Pointer"
        self.className = className
        self.objectId = objectId
    }
}

/// A place on the earth.
public struct ParseGeoPoint: Codable, Sendable, Hashable {
    private let type: String

    private enum CodingKeys: String, CodingKey {
        case type = "__type"
        case latitude, longitude
    }

    /// Degrees north, −90 to 90.
    public let latitude: Double
    /// Degrees east, −180 to 180.
    public let longitude: Double

    /// Makes a place.
    public init(latitude: Double, longitude: Double) {
        type = "GeoPoint"
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// A stored file.
public struct ParseFile: Codable, Sendable, Hashable {
    private let type: String

    private enum CodingKeys: String, CodingKey {
        case type = "__type"
        case name, url
    }

    /// The name under which it is stored.
    public let name: String
    /// Where it can be read.
    public let url: String?

    /// Names a file.
    public init(name: String, url: String? = nil) {
        type = "File"
        self.name = name
        self.url = url
    }
}

/// Who may read and write an object.
public struct ParseACL: Codable, Sendable, Hashable {
    private struct Entry: Codable, Sendable, Hashable {
        var read: Bool?
        var write: Bool?
    }

    private var entries: [String: Entry] = [:]

    /// Admits the master key only.
    public init() {}

    public init(from decoder: any Decoder) throws { entries = try [String: Entry](from: decoder) }
    public func encode(to encoder: any Encoder) throws { try entries.encode(to: encoder) }

    /// Lets a user, a role or everybody in.
    ///
    /// - Parameter principal: The id of a user, `role:` and the name of a role, or `*` for everybody.
    public mutating func allow(_ principal: String, read: Bool = false, write: Bool = false) {
        guard read || write else {
            entries[principal] = nil
            return
        }
        entries[principal] = Entry(read: read ? true : nil, write: write ? true : nil)
    }

    /// Whether an entry of its own lets a user, a role or everybody read.
    public func canRead(_ principal: String) -> Bool { entries[principal]?.read ?? false }

    /// Whether an entry of its own lets a user, a role or everybody write.
    public func canWrite(_ principal: String) -> Bool { entries[principal]?.write ?? false }
}
