import JSON
import ParseModel
import ParseStorage
import Rules

/// Checks live-query subscriptions and computes the events that subscribers receive.
public struct LiveQueries: Sendable, BackendPart {
    let backend: Backend

    /// The maximum number of steps to match one change with one subscription (see ``MatchBudget``).
    private static let steps = 1_000_000

    /// The bytes counted per role or other principal of the subscriber.
    private static let principalWeight = 48

    /// Parses a subscription and checks the caller's permissions.
    ///
    /// - Parameter query: The client's subscription, such as its `className` and `where`.
    /// - Throws: 119 or 101 if the caller may not find the objects or get the included ones, 102 or another
    ///   `ParseError` if the subscription is invalid or its condition needs the database.
    public func subscribe(_ query: JSONObject, _ context: RequestContext) throws(ParseError) -> LiveQuery {
        var query = try LiveQuery(query)
        try prepare(&query, context)
        return query
    }

    /// The result of ``shortEvent(of:for:_:_:)``.
    public enum ShortComparison: Sendable {
        /// The event to send, or nil if the change doesn't concern the subscriber.
        case known(LiveQueryEvent?)
        /// The comparison exceeded its step limit, or the subscription must be prepared first.
        case unknown
    }

    private static let shortSteps = 1000

    /// Computes a subscriber's event if a few steps suffice. Doesn't update or reject the subscription.
    ///
    /// - Parameter budget: The steps left for short comparisons of one change with all subscriptions of a client.
    public func shortEvent(
        of change: Change, for query: LiveQuery, _ context: RequestContext, _ budget: inout MatchBudget
    ) -> ShortComparison {
        guard isReady(query, context), let prepared = query.prepared else { return .unknown }
        let links = backend.links(context)
        do throws(FilterMatcherError) {
            return .known(
                try budget.lend(atMost: Self.shortSteps) { part throws(FilterMatcherError) in
                    try Self.event(of: change, for: query, prepared, links, &part)
                })
        } catch {
            return .unknown
        }
    }

    private func isReady(_ query: LiveQuery, _ context: RequestContext) -> Bool {
        query.prepared?.caller == context.caller && query.prepared?.schemaVersion == catalog.version
            && (!query.isRelative || query.prepared?.moment == context.now)
    }

    /// Computes a subscriber's event, or returns nil if the change doesn't concern the subscriber.
    ///
    /// - Parameters:
    ///   - query: The subscription, which caches its class schema and the caller's rights.
    ///   - budget: The steps left for comparisons of one change with all subscriptions of a client.
    /// - Throws: An error that ends the subscription, such as 119 or 101 if the caller may no longer find objects of
    ///   the class, and 124 if the condition exceeds its step limit.
    public func event(
        of change: Change, for query: inout LiveQuery, _ context: RequestContext, _ budget: inout MatchBudget
    ) throws(ParseError) -> LiveQueryEvent? {
        if !isReady(query, context) {
            try prepare(&query, context)
            do throws(FilterMatcherError) { try budget.spend(query.weight >> 3) } catch { throw Self.refusal(error) }
        }
        guard let prepared = query.prepared else { return nil }
        let links = backend.links(context)
        do throws(FilterMatcherError) {
            return try budget.lend(atMost: Self.steps) { part throws(FilterMatcherError) in
                try Self.event(of: change, for: query, prepared, links, &part)
            }
        } catch {
            throw Self.refusal(error)
        }
    }

    /// An object that a subscriber may not read counts as missing.
    private static func event(
        of change: Change, for query: LiveQuery, _ prepared: LiveQuery.Prepared, _ links: FileLinks,
        _ budget: inout MatchBudget
    ) throws(FilterMatcherError) -> LiveQueryEvent? {
        let (matcher, reader) = (prepared.matcher, prepared.reader)
        func visible(_ object: JSONObject?, _ budget: inout MatchBudget) throws(FilterMatcherError)
            -> (object: JSONObject?, matches: Bool)
        {
            guard let object, try reader.mayRead(object, &budget) else { return (nil, false) }
            return (object, try matcher.matches(object, &budget))
        }
        var (before, matchedBefore) = try visible(change.before, &budget)
        let (after, matches) = try visible(change.after, &budget)
        switch change.known {
        case nil: break
        case .earlier(let known):
            // The object enters or leaves if it does so compared with either state that the subscriber may know.
            let (earlier, matchedEarlier) = try visible(known, &budget)
            if matches {
                matchedBefore = matchedBefore && matchedEarlier
            } else if !matchedBefore, matchedEarlier {
                (before, matchedBefore) = (earlier, true)
            }
        case .later(let known):
            // A change that arrives late is reported only if the object left the query.
            guard matchedBefore, !matches, try !visible(known, &budget).matches else { return nil }
        }
        func event(_ kind: LiveQueryEvent.Kind, _ object: JSONObject) -> LiveQueryEvent {
            LiveQueryEvent(
                kind: kind, object: query.selected(reader.visible(object, links)),
                original: kind == .delete ? nil : before.map { query.selected(reader.visible($0, links)) })
        }
        switch (matchedBefore ? before : nil, matches ? after : nil) {
        case (let before?, nil):
            // If the object is no longer visible, its last visible state is sent.
            return change.after == nil ? event(.delete, before) : event(.leave, after ?? before)
        case (let before?, let after?):
            let isConcerned = try query.concerns(reader.visible(before, links), reader.visible(after, links), &budget)
            return isConcerned ? event(.update, after) : nil
        case (nil, let after?) where change.before == nil:
            return try query.concerns(nil, reader.visible(after, links), &budget) ? event(.create, after) : nil
        case (nil, let after?): return event(.enter, after)
        case (nil, nil): return nil
        }
    }

    /// Applies the caller's current rights. Nothing is sent until the class exists.
    private func prepare(_ query: inout LiveQuery, _ context: RequestContext) throws(ParseError) {
        query.prepared = nil
        let caller = context.caller
        let className = query.className.text
        try caller.check(query.isById ? "get" : "find", of: className)
        try ReadRules.authorize(caller, toRead: className)
        let parser = backend.finding.filterParser(context)
        let version = catalog.version
        guard let schema = catalog.schema(className) else {
            let filter = try parser.parse(query.condition)
            do throws(FilterMatcherError) {
                query.weight = try FilterMatcher(filter, schema: ClassSchema(name: className)).weight
            } catch {
                throw Self.refusal(error)
            }
            return
        }
        let access = try backend.permissions.readAccess(schema, query.isById ? .get : .find, caller)
        let filter: Filter
        do throws(ParseError) {
            filter = try parser.parse(query.condition)
        } catch {
            try access.check(malformed: query.condition, of: className)
            throw error
        }
        try access.check(filter, [], of: className)
        try checkIncludes(of: query, schema, caller)
        if let watched = query.watch?.first(where: { access.hidden.contains(Name($0.root)) }) {
            throw .denied(
                ParseError.operationForbidden,
                "This user is not allowed to watch \(watched.root) on class \(className)")
        }
        do throws(FilterMatcherError) {
            let matcher = try FilterMatcher(filter, schema: schema)
            query.weight = matcher.weight + Self.principalWeight * (access.readers?.count ?? 0)
            query.prepared = LiveQuery.Prepared(
                caller: caller, schemaVersion: version, moment: context.now, matcher: matcher,
                reader: try ObjectReader(access, seesEverything: caller.readsEverything, schema: schema))
        } catch {
            throw Self.refusal(error)
        }
    }

    private static func refusal(_ error: FilterMatcherError) -> ParseError {
        switch error {
        case .invalid(let error): error
        case .needsDatabase(let name): ParseError(102, "\(name) \(LiveQuery.needsDatabase)")
        case .unsupportedPattern(let pattern): ParseError(102, "Invalid regular expression: \(pattern)")
        case .tooMuchWork: ParseError(ParseError.timeout, "Evaluating the live query's condition took too long.")
        }
    }
}
