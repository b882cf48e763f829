import JSON
import ParseModel
import ParseStorage
import Postgres

/// Maps the keys of a class's objects to the columns of a row.
struct RowPlan: Sendable {
    /// The target of a key. Numbers are column indexes.
    enum Route: Sendable {
        case id(Int)
        case field(Int, FieldType)
        case principals(Int)
        case acl
        /// The data of a login provider.
        case authData
        /// A session token that Parse.com stored with a user.
        case legacySession
        case nothing
    }

    /// The class, or `_Join:field:Class`.
    let name: Name
    let table: ImportTable
    /// A row of nulls.
    let empty: [PostgresParameter]
    private let routes: [Name: Route]
    /// The column index of the principals that may read, or nil if the table has none.
    let readers: Int?
    /// The column index of the principals that may write, or nil if the table has none.
    let writers: Int?
    /// The column index of a user's login data, or nil for other classes.
    let authData: Int?

    /// - Parameter schema: The class, or nil for a relation.
    init(_ table: ImportTable, schema: ClassSchema?) {
        name = Name(table.name)
        self.table = table
        empty = table.columns.map(\.null)
        var routes: [Name: Route] = [:]
        var readers: Int?
        var writers: Int?
        var authData: Int?
        for (place, column) in table.columns.enumerated() {
            guard let type = column.type else {
                routes[column.name] = .principals(place)
                if column.name == "_rperm" { readers = place } else { writers = place }
                continue
            }
            if schema != nil, column.name == "objectId" {
                routes["objectId"] = .id(place)
                continue
            }
            routes[column.name] = .field(place, type)
            if table.name == "_User", column.name == "authData" { authData = place }
        }
        // Other names that these fields have in MongoDB.
        for (key, field): (Name, Name) in [
            ("_id", "objectId"), ("_created_at", "createdAt"), ("_updated_at", "updatedAt"),
            ("_last_used", "lastUsed"), ("times_used", "timesUsed"), ("_expiresAt", "expiresAt"),
        ] {
            if routes[key] == nil, let route = routes[field] { routes[key] = route }
        }
        if table.name == "_Session" { routes["_session_token"] = routes["sessionToken"] }
        if table.name == "_User" {
            // Parse.com's name for the password hash.
            routes["bcryptPassword"] = routes["_hashed_password"]
            for key in ["sessionToken", "_session_token"] as [Name] {
                routes[key] = routes[key] ?? .legacySession
            }
        }
        for (field, value) in schema?.fields ?? [:] {
            if value.type.isRelation { routes[field] = .nothing }
            if case .pointer = value.type, let route = routes[field] { routes[Name("_p_\(field)")] = route }
        }
        if routes["_id"] == nil { routes["_id"] = .nothing }
        if readers != nil {
            routes["ACL"] = .acl
            routes["_acl"] = .acl
        }
        // Old dashboards add this key to classes in MongoDB.
        routes["__type"] = .nothing
        if schema != nil { routes["className"] = routes["className"] ?? .nothing }
        self.routes = routes
        self.readers = readers
        self.writers = writers
        self.authData = authData
    }

    /// Returns the target of a key, or nil if the class doesn't have the field.
    func route(_ key: Name) -> Route? {
        if let route = routes[key] { return route }
        return authData != nil && key.hasPrefix("_auth_data_") ? .authData : nil
    }
}

/// The result of mapping one object.
enum MappedRecord: Sendable {
    /// A row to store, with the parts of the object that it lacks or changes.
    case row(id: String?, [PostgresParameter], Losses)
    /// An object that can't be stored.
    case refused(id: String?, Losses)

    var losses: Losses {
        switch self {
        case .row(_, _, let losses), .refused(_, let losses): losses
        }
    }

    var id: String? {
        switch self {
        case .row(let id, _, _), .refused(let id, _): id
        }
    }
}
