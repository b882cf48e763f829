import JSON
import Limits
import ParseModel
import Rules

/// A find or get on its way through ``FindPipeline``.
struct Find: Sendable {
    enum Kind: Sendable {
        case objects
        case object(id: String)
        /// A subquery, with the maximum number of results.
        case inner(limit: Int)
        /// A fetch of this many included objects. Needs the permission to get, not to find.
        case included(count: Int)
    }

    let className: String
    let kind: Kind
    /// The parameters as given, before triggers of this find change them.
    let parameters: JSONObject
    let context: RequestContext
    /// The parsed parameters, as given or as rewritten by a trigger.
    var options: FindOptions
    /// The class of the results. Differs from `className` with `redirectClassNameForKey`.
    var target: String
    /// Whether a trigger replaced the get of a named object with another query.
    var isRewritten = false
    /// The length in bytes above which values are truncated, or nil to return whole values.
    var shorten: Int?
    /// The expected cost, or nil if it is unknown.
    var cost: Cost?
    /// The result of the before-triggers, or nil if the find reaches no triggers.
    var triggered: TriggeredFind?

    /// - Throws: 102 or 107 if the parameters are invalid.
    init(_ className: String, _ kind: Kind, _ parameters: JSONObject, _ context: RequestContext) throws(ParseError) {
        self.className = className
        self.kind = kind
        self.parameters = parameters
        self.context = context
        target = className
        if case .object = kind {
            options = try FindOptions(get: parameters)
        } else {
            options = try FindOptions(find: parameters)
        }
    }

    var caller: Caller { context.caller }

    /// The id of a get, or nil for other queries.
    var objectId: String? {
        if case .object(let id) = kind { id } else { nil }
    }

    var isIncluded: Bool {
        if case .included = kind { true } else { false }
    }
}
