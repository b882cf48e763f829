import JSON

extension ReadPlan {
    /// The plan with the score of a text search as a field of each object.
    ///
    /// A field of the class that is called `score` as well gives way, as in parse-server.
    func adding(score rank: String) -> ReadPlan {
        let kept = columns.filter { $0.name != "score" }
        let key = JSONValue.string("score").serialized() + [UInt8(ascii: ":")]
        let selected = kept.map { SQLBuilder.quote($0.name) } + ["\(rank)::double precision"]
        return ReadPlan(
            self, columns: kept + [Column(name: "score", key: key, opening: key, encoding: .number, target: nil)],
            selectList: (selected + (hasACL ? ["\"_rperm\"", "\"_wperm\""] : [])).joined(separator: ", "))
    }

    private init(_ plan: ReadPlan, columns: [Column], selectList: String) {
        className = plan.className
        self.columns = columns
        hasACL = plan.hasACL
        constants = plan.constants
        self.selectList = selectList
        // Objects that are read by their id are not searched for.
        anyById = plan.anyById
        readableById = plan.readableById
        embeddedOpening = plan.embeddedOpening
    }
}
