import JSON
import Rules

/// `beforeFind` triggers of aggregations.
extension FindTriggers {
    /// An aggregation as changed by its trigger.
    struct TriggeredAggregate {
        var query: JSONObject
        /// An additional condition from the trigger for a pipeline, or nil if it added none.
        var condition: JSONObject?
        /// Objects that the trigger returned instead of running the aggregation, or nil to run it.
        var given: [JSONObject]?
    }

    /// Calls the class's `beforeFind` trigger, if any, and rethrows its errors.
    func callAggregateTrigger(_ className: String, _ parameters: JSONObject, _ context: RequestContext) async throws
        -> TriggeredAggregate
    {
        guard let before = findTrigger(.beforeFind, className) else { return TriggeredAggregate(query: parameters) }
        let isDistinct = parameters["distinct"]?.isTruthy ?? false
        var query: JSONObject = ["where": parameters["where"] ?? [:]]
        if isDistinct { query["distinct"] = parameters["distinct"] }
        query["pipeline"] = isDistinct ? [.null] : Self.pipeline(parameters)
        var call = FindCall(query: query, try await backend.triggers.withUser(context))
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
