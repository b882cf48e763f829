import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// `/aggregate`: pipelines and distinct values. Requires the master key.
public struct Aggregating: Sendable, BackendPart {
    let backend: Backend

    private static let options: Set<Name> = [
        "distinct", "where", "pipeline", "hint", "explain", "comment", "readPreference", "rawValues", "rawFieldNames",
    ]

    /// Runs an aggregation or a distinct query and returns `{"results":[…]}`.
    ///
    /// - Throws: `ParseError`, such as 102, 105 or 107 if the parameters are invalid, and errors of the trigger.
    public func run(_ className: String, _ parameters: JSONObject, _ context: RequestContext) async throws
        -> JSONObject
    {
        let place = try backend.finding.place(parameters["readPreference"])
        let triggered = try await backend.findTriggers.callAggregateTrigger(className, parameters, context)
        if let given = triggered.given { return ["results": .array(given.map { .object($0) })] }
        let asked = triggered.query
        if let distinct = asked["distinct"], distinct.isTruthy {
            guard let field = distinct.stringValue else { return ["results": []] }
            let options = try FindOptions(find: asked.filter { $0.key == "where" })
            let parser = FilterParser(isMaster: true, now: context.now.milliseconds)
            let filter = try parser.parse(options.condition)
            let values = try await backend.timed(.aggregate, className, context) {
                try await store.aggregates.distinct(className, field, filter, place: place)
            }
            return ["results": .array(values)]
        }
        var stages = try Self.stages(asked, preset: configuration.preset)
        if let condition = triggered.condition { stages.insert(AggregateStage("$match", .object(condition)), at: 0) }
        let planned = stages
        let rows = try await backend.timed(.aggregate, className, context) {
            try await store.aggregates.aggregate(
                className, planned, now: context.now.milliseconds, mergesDateParts: configuration.preset >= 8,
                place: place)
        }
        let links = backend.links(context)
        // As in parse-server, every row gets the markers of all the class's relations, regardless of its fields. Rows
        // whose id is null (one group of all objects) and results of `$facet` get none.
        let form = AggregateForm(asked)
        let hasMarkers = !form.hasRawNames && !planned.contains { $0.name == "$facet" }
        let fields = hasMarkers ? catalog.schema(className)?.fields : nil
        let markers = (fields ?? [:]).compactMap { name, field -> (Name, JSONValue)? in
            guard case .relation(let target) = field.type else { return nil }
            return (name, ["__type": "Relation", "className": .string(target.text)])
        }
        return [
            "results": .array(
                rows.map { row in
                    var object = form.published(row, links, isDocument: true).objectValue ?? [:]
                    if row["objectId"] != .null { for (name, marker) in markers { object[name] = marker } }
                    return .object(object)
                })
        ]
    }

    /// Reads the pipeline: a list of one-key objects, an object of stages, or the parameters that aren't options.
    private static func stages(_ parameters: JSONObject, preset: Int) throws(ParseError) -> [AggregateStage] {
        let list: [JSONValue]
        switch parameters["pipeline"] {
        case .array(let given): list = given
        case .object(let object): list = object.map { .object([$0.key: $0.value]) }
        case nil: list = parameters.filter { !options.contains($0.key) }.map { .object([$0.key: $0.value]) }
        case .some: throw ParseError(ParseError.invalidQuery, "Invalid aggregate stage '0'.")
        }
        return try AggregateStage.list(preset < 6 ? list.map(oldStage) : list)
    }

    /// Converts a stage of presets below 6, which may lack the dollar sign and group by `objectId`.
    private static func oldStage(_ element: JSONValue) -> JSONValue {
        guard let object = element.objectValue, object.count == 1, let stage = object.elements.first else {
            return element
        }
        let name: Name = stage.key.hasPrefix("$") ? stage.key : Name("$" + stage.key.text)
        guard name == "$group", var group = stage.value.objectValue, group["_id"] == nil,
            let id = group.removeValue(forKey: "objectId")
        else { return .object([name: stage.value]) }
        group["_id"] = id
        return .object([name: .object(group)])
    }
}
