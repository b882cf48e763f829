import JSON
import ParseModel
import Rules

/// A find or a get on its way to its answer; ``FindPipeline`` takes it through the steps.
struct Find: Sendable {
    enum Kind: Sendable {
        /// Objects that fulfil a condition.
        case objects
        case object(id: String)
        /// The objects of a query inside of another one, so many at most.
        case inner(most: Int)
        /// Objects that another one includes, so many of them: they are got, and not found.
        case included(count: Int)
    }

    let className: String
    let kind: Kind
    /// The parameters as they were sent.
    let parameters: JSONObject
    let context: RequestContext
    /// The parameters, read: the client's, or what a trigger made of them.
    var options: FindOptions
    /// The class whose objects are answered: another one where a field of the class leads there.
    var target: String
    /// Whether a trigger asks for something else than the one object that the client named.
    var isRewritten = false
    /// From how many bytes on values are shortened; nil for never.
    var shorten: Int?
    /// Whether no other request may wait behind it.
    var isApart = false
    /// What triggers made of it; nil where none can be called.
    var triggered: TriggeredFind?

    /// - Throws: 102 or 107 for parameters that make no sense.
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

    /// The one object that the client asks for; nil where it asks for any that fulfil a condition.
    var objectId: String? {
        if case .object(let id) = kind { id } else { nil }
    }

    /// Whether the objects are those that another one includes.
    var isIncluded: Bool {
        if case .included = kind { true } else { false }
    }
}
