import JSON
import Rules

/// The trigger before finds, where it is an aggregation that is asked for.
extension FindTriggers {
    /// What a trigger made of an aggregation.
    struct TriggeredAggregate {
        var query: JSONObject
        /// What objects must fulfil besides; nil for nothing.
        var condition: JSONObject?
        /// What is answered without an aggregation; nil for the aggregation.
        var given: [JSONObject]?
    }

    /// Calls the trigger before finds, if there is one; throws what the trigger throws.
    func callAggregateTrigger(_ className: String, _ parameters: JSONObject, _ context: RequestContext) async throws
        -> TriggeredAggregate
    {
        guard let before = findTrigger(.beforeFind, className) else { return TriggeredAggregate(query: parameters) }
        let isDistinct = parameters["distinct"]?.isTruthy ?? false
        var query: JSONObject = ["where": parameters["where"] ?? [:]]
        if isDistinct { query["distinct"] = parameters["distinct"] }
        query["pipeline"] = isDistinct ? [.null] : Self.pipeline(parameters)
        var call = FindCall(.beforeFind, className, query: query, try await backend.triggers.withUser(context))
        let asked = call.query
        try await before(&call)
        var triggered = TriggeredAggregate(query: parameters, given: call.objects)
        let condition = call.query["where"]?.objectValue ?? [:]
        if isDistinct {
            triggered.query["where"] = .object(condition)
            if let key = call.query["distinct"] { triggered.query["distinct"] = key }
        } else {
            if !condition.isEmpty, call.query["where"] != asked["where"] { triggered.condition = condition }
            if let pipeline = call.query["pipeline"], pipeline != asked["pipeline"] {
                triggered.query["pipeline"] = pipeline
            }
        }
        return triggered
    }

    private static func pipeline(_ parameters: JSONObject) -> JSONValue {
        switch parameters["pipeline"] {
        case .array(let stages)?: .array(stages)
        case .object(let stages)?: .array(stages.map { .object([$0.key: $0.value]) })
        case .some(let other): other
        case nil: .array(parameters.filter { $0.key.hasPrefix("$") }.map { .object([$0.key: $0.value]) })
        }
    }
}
