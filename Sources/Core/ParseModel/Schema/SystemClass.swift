import JSON
import OrderedCollections

/// Parse's built-in classes with their default fields.
public enum SystemClass {
    /// System classes that are valid class names in requests. Some of them require the master key.
    public static let names: Set<Name> = [
        "_User", "_Installation", "_Role", "_Session", "_Product", "_PushStatus", "_JobStatus", "_JobSchedule",
        "_Audience", "_Idempotency",
    ]

    /// Classes with a table but without a row in `_SCHEMA`.
    public static let volatileNames: [Name] = [
        "_Hooks", "_JobStatus", "_JobSchedule", "_PushStatus", "_GlobalConfig", "_GraphQLConfig", "_Audience",
        "_Idempotency",
    ]

    /// Classes that require the master key.
    public static let masterOnlyNames = Set(volatileNames)

    /// The default fields of every class.
    public static let commonFields: OrderedDictionary<Name, Field> = [
        "objectId": Field(.string), "createdAt": Field(.date), "updatedAt": Field(.date), "ACL": Field(.acl),
    ]

    /// Additional fields of system classes.
    public static let ownFields: [Name: OrderedDictionary<Name, Field>] = [
        "_User": [
            "username": Field(.string), "password": Field(.string), "email": Field(.string),
            "emailVerified": Field(.boolean), "authData": Field(.object),
        ],
        "_Installation": [
            "installationId": Field(.string), "deviceToken": Field(.string), "channels": Field(.array),
            "deviceType": Field(.string), "pushType": Field(.string), "GCMSenderId": Field(.string),
            "timeZone": Field(.string), "localeIdentifier": Field(.string), "badge": Field(.number),
            "appVersion": Field(.string), "appName": Field(.string), "appIdentifier": Field(.string),
            "parseVersion": Field(.string),
        ],
        "_Role": [
            "name": Field(.string), "users": Field(.relation("_User")), "roles": Field(.relation("_Role")),
        ],
        "_Session": [
            "user": Field(.pointer("_User")), "installationId": Field(.string), "sessionToken": Field(.string),
            "expiresAt": Field(.date), "createdWith": Field(.object),
        ],
        "_Product": [
            "productIdentifier": Field(.string), "download": Field(.file), "downloadName": Field(.string),
            "icon": Field(.file), "order": Field(.number), "title": Field(.string), "subtitle": Field(.string),
        ],
        "_PushStatus": [
            "pushTime": Field(.string), "source": Field(.string), "query": Field(.string),
            "payload": Field(.string), "title": Field(.string), "expiry": Field(.number),
            "expiration_interval": Field(.number), "status": Field(.string), "numSent": Field(.number),
            "numFailed": Field(.number), "pushHash": Field(.string), "errorMessage": Field(.object),
            "sentPerType": Field(.object), "failedPerType": Field(.object), "sentPerUTCOffset": Field(.object),
            "failedPerUTCOffset": Field(.object), "count": Field(.number),
        ],
        "_JobStatus": [
            "jobName": Field(.string), "source": Field(.string), "status": Field(.string),
            "message": Field(.string), "params": Field(.object), "finishedAt": Field(.date),
        ],
        "_JobSchedule": [
            "jobName": Field(.string), "description": Field(.string), "params": Field(.string),
            "startAfter": Field(.string), "daysOfWeek": Field(.array), "timeOfDay": Field(.string),
            "lastRun": Field(.number), "repeatMinutes": Field(.number),
        ],
        "_Hooks": [
            "functionName": Field(.string), "className": Field(.string), "triggerName": Field(.string),
            "url": Field(.string),
        ],
        "_GlobalConfig": ["params": Field(.object), "masterKeyOnly": Field(.object)],
        "_GraphQLConfig": ["config": Field(.object)],
        "_Audience": [
            "name": Field(.string), "query": Field(.string), "lastUsed": Field(.date), "timesUsed": Field(.number),
        ],
        "_Idempotency": ["reqId": Field(.string), "expire": Field(.date)],
    ]

    /// Columns of `_User` that no schema lists, with their types in queries. Only the maintenance key can read them,
    /// but queries with the master key can filter by them.
    public static let internalUserFields: OrderedDictionary<Name, FieldType> = [
        "_hashed_password": .string, "_email_verify_token": .string, "_email_verify_token_expires_at": .date,
        "_perishable_token": .string, "_perishable_token_expires_at": .date, "_password_changed_at": .date,
        "_failed_login_count": .number, "_account_lockout_expires_at": .date, "_password_history": .array,
    ]

    /// Fields of `_User` in which early versions of parse-server stored session tokens. Only the maintenance key can
    /// read the stored values.
    public static let secretUserFields: Set<Name> = ["sessionToken"]

    /// Required fields of system classes.
    public static let requiredFields: [Name: [Name]] = [
        "_Role": ["name", "ACL"],
        "_Product": ["productIdentifier", "icon", "order", "title", "subtitle"],
    ]

    /// Returns the field for its MongoDB name, which queries and pipelines may also use. Other names are returned
    /// unchanged.
    public static func field(queriedAs name: String) -> String {
        switch name {
        case "_id": "objectId"
        case "_created_at": "createdAt"
        case "_updated_at": "updatedAt"
        default: name
        }
    }

    /// Returns the default fields of a class: the common ones, then those of a system class.
    public static func defaultFields(of className: String) -> OrderedDictionary<Name, Field> {
        commonFields.merging(ownFields[className] ?? [:]) { $1 }
    }

    /// Whether a field is a default field of the class, which can't be added or removed.
    public static func isDefaultField(_ field: String, of className: String) -> Bool {
        commonFields[field] != nil || ownFields[className]?[field] != nil
    }
}
