import JSON
import Limits
import ParseModel
import Rules

/// Find triggers of subqueries. A subquery with triggers runs as a separate find, whose results replace it.
extension FindTriggers {
    /// The maximum number of results of a subquery. All of them pass through triggers.
    private static let maxInnerObjects = 10_000

    private static let inner: [Name: (list: Name, selects: Bool)] = [
        "$inQuery": ("$in", false), "$notInQuery": ("$nin", false), "$select": ("$in", true),
        "$dontSelect": ("$nin", true),
    ]

    /// Returns the condition with the results of subqueries on classes with find triggers filled in.
    ///
    /// - Throws: Errors of triggers and finds.
    func answeringSubqueries(in condition: JSONObject, _ context: RequestContext) async throws -> JSONObject {
        // The limit of the condition parser applies here too, because each subquery is a find.
        try HardLimits.check(
            Self.subqueries(in: .object(condition)), atMost: HardLimits.subqueries, "subqueries")
        return try await answering(.object(condition), context).objectValue ?? condition
    }

    private static func subqueries(in value: JSONValue) -> Int {
        switch value {
        case .array(let list): list.reduce(0) { $0 + subqueries(in: $1) }
        case .object(let object): object.reduce(0) { $0 + (inner[$1.key] == nil ? 0 : 1) + subqueries(in: $1.value) }
        default: 0
        }
    }

    private func answering(_ value: JSONValue, _ context: RequestContext) async throws -> JSONValue {
        switch value {
        case .array(let list):
            guard list.contains(where: Self.isNested) else { return value }
            var answered: [JSONValue] = []
            for element in list { answered.append(try await answering(element, context)) }
            return .array(answered)
        case .object(let object):
            guard object.contains(where: { Self.isNested($0.value) }) else { return value }
            var answered: JSONObject = [:]
            for (name, member) in object {
                guard let inner = Self.inner[name], let operand = member.objectValue,
                    let query = inner.selects ? operand["query"]?.objectValue : operand,
                    let className = query["className"]?.stringValue, readsTriggered(query, className)
                else {
                    // Keeps a list that a subquery was merged into.
                    if answered[name] == nil { answered[name] = try await answering(member, context) }
                    continue
                }
                let key = inner.selects ? operand["key"]?.stringValue ?? "" : nil
                let values = try await objects(of: query, className, context).compactMap { object in
                    key.map { Self.member($0, of: .object(object)) }
                        ?? Pointer(
                            // The redirected class, if the subquery has `redirectClassNameForKey`.
                            className: object["className"]?.stringValue ?? className,
                            objectId: object["objectId"]?.stringValue ?? ""
                        ).json
                }
                let others = answered[inner.list]?.arrayValue ?? object[inner.list]?.arrayValue
                // Merged into one list, as the condition parser does for subqueries without triggers.
                answered[inner.list] = .array((others ?? []) + values)
            }
            return .object(answered)
        default: return value
        }
    }

    private func readsTriggered(_ query: JSONObject, _ className: String) -> Bool {
        if hasFindTrigger(className) { return true }
        guard let key = query["redirectClassNameForKey"]?.stringValue,
            let target = catalog.schema(className)?.type(of: key)?.targetClass
        else { return false }
        return hasFindTrigger(target.text)
    }

    private static func isNested(_ value: JSONValue) -> Bool {
        switch value {
        case .array, .object: true
        default: false
        }
    }

    private static func member(_ key: String, of value: JSONValue) -> JSONValue? {
        key.split(separator: ".").reduce(value as JSONValue?) { $0?[Name($1)] }
    }

    private func objects(of query: JSONObject, _ className: String, _ context: RequestContext) async throws
        -> [JSONObject]
    {
        let parameters = query.filter { $0.key != "className" }
        let find = try Find(className, .inner(limit: Self.maxInnerObjects + 1), parameters, context)
        let answer = try await FindPipeline(backend: backend).run(find)
        let objects = try await HeavyWork.makeValues(of: answer.count) {
            try JSONValue(parsing: answer)["results"]?.arrayValue?.compactMap(\.objectValue) ?? []
        }
        guard objects.count <= Self.maxInnerObjects else {
            throw ParseError(
                ParseError.invalidQuery,
                "A subquery on class \(className) returns more than \(Self.maxInnerObjects) objects, the limit for classes with "
                    + "find triggers. Narrow its condition.")
        }
        return objects
    }

    /// Whether a find may reach a class with find triggers: its own, a redirected or included one, or a subquery's.
    func reachesFindTriggers(_ className: String, _ options: FindOptions) -> Bool {
        hasFindTrigger(className) || options.redirectKey != nil || options.includesAll
            || options.includes.contains { path in path.indices.contains { mayReachTrigger(className, path[...$0]) } }
            || Self.subqueries(in: .object(options.condition)) > 0
    }
}
