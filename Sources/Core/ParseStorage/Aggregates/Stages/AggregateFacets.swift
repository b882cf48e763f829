import JSON
import ParseModel
import Postgres

/// Compiles `$facet`, which runs several pipelines on the same documents.
extension AggregateCompiler {
    private static let closed: Set<String> = ["$facet", "$geoNear", "$out", "$merge"]

    /// Compiles a `$facet` stage. All pipelines share its input, which PostgreSQL computes once.
    mutating func facet(_ operand: JSONValue, _ input: AggregateInput) throws(ParseError) -> String {
        guard let facets = operand.objectValue, !facets.isEmpty else {
            throw ParseError(ParseError.invalidQuery, "the $facet specification must be a non-empty object")
        }
        let shared = expressions.uniqueName("facet")
        var members: [(name: String, value: String)] = []
        var queries: [String] = []
        for (field, pipeline) in facets {
            guard !field.text.utf8.contains(UInt8(ascii: ".")) else {
                throw ParseError(ParseError.invalidQuery, "$facet: the name \(field) must not contain '.'")
            }
            let name = expressions.builder.bind(.text(try AggregateNames.checked(field.text)))
            guard let list = pipeline.arrayValue else {
                throw ParseError(ParseError.invalidQuery, "$facet: \(field) must be a list of stages")
            }
            let stages = try AggregateStage.list(list)
            if let stage = stages.first(where: { Self.closed.contains($0.name) }) {
                throw ParseError(
                    ParseError.invalidQuery, "\(stage.name) is not allowed to be used within a $facet stage")
            }
            let documents = try self.pipeline(stages, input.replaced(by: "SELECT * FROM \(shared)"))
            queries.append("SELECT \(queries.count) AS facet, doc FROM (\(documents)) AS _found")
            members.append(
                ("\(name)::text", "COALESCE(jsonb_agg(doc) FILTER (WHERE facet = \(members.count)), '[]')"))
        }
        // All lists together have the size limit of one.
        let found = AggregateInput.documents(query: queries.joined(separator: " UNION ALL ")).source
        let document = AggregateRow.list(AggregateRow.object(members), of: "doc")
        return "WITH \(shared) AS MATERIALIZED (\(input.query)) SELECT \(document) AS doc \(found)"
    }
}
