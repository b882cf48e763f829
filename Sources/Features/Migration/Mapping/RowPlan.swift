import JSON
import ParseModel
import ParseStorage
import Postgres

/// How the objects of one class become rows: which place of a row a key leads to.
struct RowPlan: Sendable {
    /// Where a key leads.
    enum Route: Sendable {
        case id(Int)
        case field(Int, FieldType)
        case principals(Int)
        case acl
        /// Data of a login provider.
        case authData
        /// The session token that Parse.com stored with a user.
        case legacySession
        case nothing
    }

    /// The class, or `_Join:field:Class`.
    let name: Name
    let table: ImportTable
    /// A row without values.
    let empty: [PostgresParameter]
    private let routes: [Name: Route]
    /// The positions of the lists of principals, where the class has them.
    let readers: Int?
    let writers: Int?
    /// The place of the login data of users.
    let authData: Int?

    /// Makes the plan of a class or relation.
    ///
    /// - Parameter schema: The class; nil for a relation.
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
        // What MongoDB calls otherwise, and what has no column of its own.
        for (key, field): (Name, Name) in [
            ("_id", "objectId"), ("_created_at", "createdAt"), ("_updated_at", "updatedAt"),
            ("_last_used", "lastUsed"), ("times_used", "timesUsed"), ("_expiresAt", "expiresAt"),
        ] {
            if routes[key] == nil, let route = routes[field] { routes[key] = route }
        }
        if table.name == "_Session" { routes["_session_token"] = routes["sessionToken"] }
        if table.name == "_User" {
            // Parse.com's name of it.
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
        // Dashboards of old mark classes in MongoDB with it.
        routes["__type"] = .nothing
        if schema != nil { routes["className"] = routes["className"] ?? .nothing }
        self.routes = routes
        self.readers = readers
        self.writers = writers
        self.authData = authData
    }

    /// Where a key leads; nil for one that the class does not have.
    func route(_ key: Name) -> Route? {
        if let route = routes[key] { return route }
        return authData != nil && key.hasPrefix("_auth_data_") ? .authData : nil
    }
}

/// What became of one object.
enum MappedRecord: Sendable {
    /// A row, and what could not be kept of the object.
    case row(id: String?, [PostgresParameter], Losses)
    /// An object that has no row.
    case refused(id: String?, Losses)

    /// What could not be kept.
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
