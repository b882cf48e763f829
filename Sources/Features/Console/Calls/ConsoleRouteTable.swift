import Encoding
import HTTP
import JSON
internal import Operations
internal import ParseModel
import Rules

/// The routes of the console except sign-in, downloads and the REST API.
package enum ConsoleRouteTable {
    package static let all =
        own + start + operators + rows + exports + imports + uploads + tasks + account + goingOn + performance + health
        + settings + backups

    private static let own: [ConsoleRoute] = [
        ConsoleRoute(.get, "audit", .viewer) { try await $0.audited() }
    ]

    /// Returns the route of a call and the values of its path parameters, or nil if no route matches.
    static func match(_ method: Method, _ path: Substring) -> (route: ConsoleRoute, arguments: [String])? {
        let components = path.split(separator: "/", omittingEmptySubsequences: false)
        for route in all where route.method == method && route.path.count == components.count {
            var arguments: [String] = []
            let fits = zip(route.path, components).allSatisfy { wanted, given in
                guard wanted.hasPrefix(":") else { return wanted == given }
                guard let text = PercentEncoding.decode(given), !text.isEmpty, !text.utf8.contains(0) else {
                    return false
                }
                arguments.append(text)
                return true
            }
            if fits { return (route, arguments) }
        }
        return nil
    }
}

/// A console route with the role that it requires.
package struct ConsoleRoute: Sendable {
    package let method: Method
    package let path: [String]
    package let least: ConsoleRole
    package let effect: Effect
    /// Whether the operator must have confirmed their identity recently.
    let isConfirmed: Bool
    let handler: @Sendable (ConsoleCall) async throws -> Reply

    package enum Effect {
        case nothing
        /// The caller's own sessions, password, second factor or exports, and for owners all sessions.
        case account
        case deployment
    }

    /// - Parameters:
    ///   - path: Components separated by slashes. Those that begin with a colon are parameters.
    ///   - effect: The extent of the route's changes, or nil to derive it from the method.
    init(
        _ method: Method, _ path: String, _ least: ConsoleRole, _ effect: Effect? = nil, isConfirmed: Bool = false,
        _ handler: @escaping @Sendable (ConsoleCall) async throws -> Reply
    ) {
        self.method = method
        self.path = path.split(separator: "/").map { String($0) }
        self.least = least
        self.isConfirmed = isConfirmed
        self.effect = effect ?? (method == .get ? .nothing : .deployment)
        self.handler = handler
    }
}

/// A call to a route that the caller's role may use.
struct ConsoleCall {
    let interface: ConsoleInterface
    let visit: ConsoleVisit
    let session: StoredOperatorSession
    let role: ConsoleRole
    let arguments: [String]

    /// The query parameters. Each value is parsed as JSON if possible, otherwise it is a string.
    var query: JSONObject { FormEncoding.values(queryText) }

    /// The query parameters as strings.
    var texts: JSONObject { FormEncoding.strings(queryText) }

    private var queryText: Substring { visit.request.target.drop { $0 != "?" }.dropFirst() }

    /// Reads the JSON body.
    ///
    /// - Throws: ``HTTPError`` if it isn't JSON, is compressed or incomplete, or is too large.
    func body() async throws -> JSONObject {
        try await interface.dispatcher.body(of: visit.request, upTo: ConsoleInterface.largestBody)
    }

    /// Runs a call with an audit entry, stored before it and completed after it. The call's errors become responses.
    ///
    /// - Parameters:
    ///   - className: The affected class.
    ///   - ids: The affected objects.
    ///   - count: The number of affected objects, which may be more than `ids` lists.
    ///   - fields: The fields that are set or exported, or the subject of the call, such as a backup's name.
    ///   - before: The value before the change.
    ///   - after: The value after the change.
    func audited(
        _ path: String, className: String? = nil, ids: [String] = [], count: Int = 1, fields: [String] = [],
        before: JSONValue? = nil, after: JSONValue? = nil, _ body: () async throws -> Reply
    ) async throws -> Reply {
        var entry = interface.entry(visit, session, path)
        entry.className = className
        entry.ids = ids
        entry.count = count
        entry.fields = fields
        entry.before = before.map(interface.audit.bounded)
        let rows = interface.backend.store.audit
        let id = try await rows.begin(entry)
        let reply: Reply
        do {
            reply = try await body()
        } catch {
            reply = interface.dispatcher.reply(to: error, visit.request)
        }
        await rows.complete(
            id, status: reply.status, ids: nil, after: reply.status < 400 ? after.map(interface.audit.bounded) : nil)
        return reply
    }

    fileprivate func audited() async throws -> Reply {
        let query = query
        guard !JSONBody.containsNull(query) else { throw JSONBody.nullCharacter }
        return .object(try await interface.backend.store.audit.answer(query))
    }
}

/// A group of related console calls, such as those for exports. Each group is a type of its own.
protocol ConsoleCalls {
    var call: ConsoleCall { get }
}

extension ConsoleCalls {
    var interface: ConsoleInterface { call.interface }
    var visit: ConsoleVisit { call.visit }
    var session: StoredOperatorSession { call.session }
    var role: ConsoleRole { call.role }
    var arguments: [String] { call.arguments }
    var query: JSONObject { call.query }
    var texts: JSONObject { call.texts }
    var context: RequestContext { interface.context(of: visit, role) }

    func body() async throws -> JSONObject { try await call.body() }
}
