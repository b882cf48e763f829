import JSON

extension ReadPlan {
    /// The plan with the score of a text search as a field of each object.
    ///
    /// A field of the class that is called `score` as well gives way, as in parse-server.
    func adding(score rank: String) -> ReadPlan {
        let kept = columns.filter { $0.name != "score" }
        let selected = kept.map { SQLBuilder.quote($0.name) } + ["\(rank)::double precision AS \"$score\""]
        return ReadPlan(
            className: className, columns: kept + [Column("score", .number)], constants: constants, hasACL: hasACL,
            selectList: (selected + (hasACL ? ["\"_rperm\"", "\"_wperm\""] : [])).joined(separator: ", "))
    }
}
