import JSON
import ParseModel

/// The names that fields have in MongoDB.
enum MongoNames {
    /// The field that a key of MongoDB's stands for.
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
