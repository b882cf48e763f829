/// The vocabulary of malformed requests.
extension MalformedValues {
    static let fields = [
        "text", "number", "flag", "moment", "place", "area", "list", "map", "friend", "friends", "picture", "data",
        "objectId", "createdAt", "updatedAt", "ACL",
    ]

    /// Invalid field names, and names with a meaning for the server.
    static let oddKeys = [
        "", " ", "a b", "a.b", "a..b", ".a", "a.", "map.a", "map.a.b", "list.0", "list.-1", "text.x", "friend.text",
        "friend.friend.friend.text", "friends.text", "__proto__", "constructor", "__type", "__op", "_rperm", "_wperm",
        "_id", "_hashed_password", "_created_at", "password", "username", "email", "authData", "sessionToken",
        "_auth_data_x", "_method", "_ApplicationId", "_MasterKey", "_SessionToken", "_InstallationId", "$or", "$where",
        "key\"quote", "key'quote", "key;DROP", "key\\back", "näme", "1key", "className", "$1", "a-b", "*", "null",
        "\u{202E}x", "x'); DROP TABLE \"Thing\"; --", String(repeating: "k", count: 200), "emailVerified", "user",
        "_perishable_token", "_failed_login_count", "map.a'b", "map.a\"b", "map.\\", "authData.x.id", "roles", "users",
        "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "oid", "r", "_r", "id", "score", "key", "value", "element",
        "_row", "_related", "_member", "n", "t", "new", "old", "excluded", "relatedId", "owningId", "select",
        "user\u{0}",
        "\u{212a}ey", "te\u{301}xt", "text\u{301}", "map.\u{301}a", "\u{1F3B5}", "_p_friend", "_updated_at", "params",
    ]

    /// Classes that are missing, invalid or protected.
    static let oddClasses = [
        "_User", "_Role", "_Session", "_Installation", "_Product", "_PushStatus", "_JobStatus", "_JobSchedule",
        "_Hooks", "_GlobalConfig", "_GraphQLConfig", "_Audience", "_Idempotency", "_SCHEMA", "_Join:friends:Thing",
        "_Join:users:_Role", "_Nothing", "1Class", "pg_catalog", "Thing\"", "Thing'; DROP TABLE \"Thing\"; --", "",
        "Tas\u{212a}", "pg_class", "pg_type", "pg_temp", "information_schema", "spatial_ref_sys", "text", "int4",
        "Class With Blanks", "Thïng", "thing", "Absent", "NewClass", "..", "*", "constructor",
        String(repeating: "C", count: 200),
    ]

    /// Texts with a meaning for other programs.
    static let texts = [
        "", " ", "a", "'", "\"", "\\", "';", "'; DROP TABLE \"Thing\"; --", "\" OR 1=1 --", "$1", "$$", "%", "_", "*",
        "%s%n", "\\'", "\\\\", "a\nb", "a\r\nX-Injected: 1", "\t", "\u{1}", "\u{7F}", "\u{202E}", "\u{FEFF}",
        "\u{FFFF}",
        "🎵", "e\u{301}", "true", "null", "[]", "{}", "[1,", "{\"a\":", "../../etc/passwd", "role:x", "r:0123", "-1",
        "1e400", "NaN", "0x10", "2020-13-45", "Thing", "abcdefghij", "<script>", "${jndi:x}", "{{x}}",
        String(repeating: "'", count: 200), String(repeating: "\\", count: 199), String(repeating: "🎵", count: 60),
    ]

    /// Dates, most of them invalid.
    static let dates = [
        "2020-01-01T00:00:00.000Z", "2020-13-45T25:61:61.000Z", "0000-00-00T00:00:00.000Z", "", "now",
        "+275760-09-13T00:00:00.001Z", "-271821-04-20T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "infinity",
        "2020-02-30T00:00:00.000Z", "2020-01-01", "epoch", "294277-01-01T00:00:00.000Z", "-4714-01-01T00:00:00.000Z",
    ]

    /// Regular expressions that are invalid, expensive or in another dialect.
    static let patterns = [
        "((((", "))))", "[", "[z-a]", "a{2,1}", "a{99999}", "*", "+", "?", "\\", "(?<=a)b", "(?<!a)b", "(?=a)", "(?!a)",
        "(?i)a", "(?P<n>a)", "(?<n>a)\\k<n>", "\\1", "(a)\\1", "(a*)*b", "(a|aa)+$", "^\\Qa.b\\E", "\\Q", "\\Qa'\\E",
        "\\Qa\\E\\Qb\\E", "^", "$", "^$", "'", "\"", "\\u0041", "\\x{110000}", "\\p{L}", "[[:alpha:]]", "[[:nope:]]",
        "***=a", "***:a", "(?", "(?#", "a**", "\\", "[\\", "\\c", "\\xZZ", "\\0", "\\8", "(?:", "a{", "{1}", "a{1",
    ]

    /// Query operators, including unknown ones.
    static let operators = [
        "$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$in", "$nin", "$all", "$exists", "$regex", "$options", "$text",
        "$nearSphere", "$within", "$geoWithin", "$geoIntersects", "$maxDistance", "$maxDistanceInMiles",
        "$maxDistanceInKilometers", "$maxDistanceInRadians", "$inQuery", "$notInQuery", "$select", "$dontSelect",
        "$containedBy", "$where", "$nonsense", "$", "$or", "$relativeTime",
    ]

    static let parameters = [
        "where", "order", "keys", "include", "limit", "skip", "count", "excludeKeys", "hint", "explain", "includeAll",
        "readPreference", "subqueryReadPreference", "includeReadPreference", "redirectClassNameForKey", "comment",
        "nonsense",
    ]
}
