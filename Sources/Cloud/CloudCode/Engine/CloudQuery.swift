import JSON
import Operations
import ParseModel

/// A query as find triggers get it, and as they give it back.
enum CloudQuery {
    private static let options: [Name] = [
        "include", "keys", "excludeKeys", "limit", "skip", "order", "watch", "readPreference", "includeReadPreference",
        "subqueryReadPreference", "hint", "explain", "comment", "includeAll", "pipeline", "distinct",
    ]

    /// `{"where":{…}}` with the options that say something.
    static func described(_ find: FindCall) -> JSONObject {
        var query: JSONObject = ["where": find.query["where"] ?? [:]]
        for name in options {
            guard let value = find.query[name], value.isTruthy || name == "pipeline" else { continue }
            query[name] = value
        }
        return query
    }

    private static let subscriptionFields: [Name] = ["keys", "watch", "include"]

    /// What a client subscribes to, as a query has it: lists of fields are texts.
    static func described(_ subscription: JSONObject) -> JSONObject {
        var query: JSONObject = ["where": subscription["where"] ?? [:]]
        for name in subscriptionFields {
            guard let fields = subscription[name]?.parameterNames, !fields.isEmpty else { continue }
            query[name] = .string(fields.joined(separator: ","))
        }
        return query
    }

    /// What a client is subscribed to instead.
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
    /// The parameters of a find with the query that a trigger gave in the place of the one it got; what is null is
    /// asked for no more.
    func replacing(with query: JSONObject) -> JSONObject {
        var parameters = self
        for (name, value) in query where name != "className" {
            if value.isNull { parameters.removeValue(forKey: name) } else { parameters[name] = value }
        }
        return parameters
    }
}
