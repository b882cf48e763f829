import JSON
import Operations

/// A query as find triggers are told it, and as they give it back.
enum CloudQuery {
    private static let options: [Name] = [
        "include", "keys", "excludeKeys", "limit", "skip", "order", "watch", "readPreference", "includeReadPreference",
        "subqueryReadPreference", "hint", "explain", "comment", "includeAll", "pipeline", "distinct",
    ]

    /// `{"where":{…}}` with the options that say something.
    static func told(_ find: FindCall) -> JSONObject {
        var query: JSONObject = ["where": find.query["where"] ?? [:]]
        for name in options {
            guard let value = find.query[name], value.isTruthy || name == "pipeline" else { continue }
            query[name] = value
        }
        return query
    }
}

extension JSONObject {
    /// The parameters of a find with the query that a trigger gave in the place of the one it was told; what is null is asked
    /// for no more.
    func replacing(with query: JSONObject) -> JSONObject {
        var parameters = self
        for (name, value) in query where name != "className" {
            if value.isNull { parameters.removeValue(forKey: name) } else { parameters[name] = value }
        }
        return parameters
    }
}
