import JSON
import Operations
import ParseModel

/// Converts queries to and from the format of find and subscribe triggers.
enum CloudQuery {
    private static let options: [Name] = [
        "include", "keys", "excludeKeys", "limit", "skip", "order", "watch", "readPreference", "includeReadPreference",
        "subqueryReadPreference", "hint", "explain", "comment", "includeAll", "pipeline", "distinct",
    ]

    /// Returns `{"where":{…}}` with the options that are set.
    static func described(_ find: FindCall) -> JSONObject {
        var query: JSONObject = ["where": find.query["where"] ?? [:]]
        for name in options {
            guard let value = find.query[name], value.isTruthy || name == "pipeline" else { continue }
            query[name] = value
        }
        return query
    }

    private static let subscriptionFields: [Name] = ["keys", "watch", "include"]

    /// Returns a subscription as a query. Lists of fields become comma-separated strings.
    static func described(_ subscription: JSONObject) -> JSONObject {
        var query: JSONObject = ["where": subscription["where"] ?? [:]]
        for name in subscriptionFields {
            guard let fields = subscription[name]?.parameterNames, !fields.isEmpty else { continue }
            query[name] = .string(fields.joined(separator: ","))
        }
        return query
    }

    /// Returns the subscription with the query that a trigger returned.
    static func subscribed(_ query: JSONObject, _ subscription: JSONObject) -> JSONObject {
        var changed = subscription
        changed["where"] = query["where"] ?? [:]
        for name in subscriptionFields {
            switch query[name] {
            case .string(let text):
                changed[name] = .array(text.parts(between: ",").filter { !$0.isEmpty }.map { .string($0) })
            case .array(let list): changed[name] = .array(list)
            default: changed[name] = nil
            }
        }
        return changed
    }
}

extension JSONObject {
    /// Returns the parameters of a find, updated with a trigger's query. Null removes a parameter.
    func replacing(with query: JSONObject) -> JSONObject {
        var parameters = self
        for (name, value) in query where name != "className" {
            if value.isNull { parameters.removeValue(forKey: name) } else { parameters[name] = value }
        }
        return parameters
    }
}
