import Encoding
import HTTP
import JSON
internal import Operations
internal import ParseModel
internal import ParseStorage
import Rules

/// The routes of the console beside the session and the interface of apps.
package enum ConsoleRouteTable {
    package static let all =
        own + start + operators + rows + exports + imports + uploads + tasks + account + goingOn + performance + health
        + backups

    private static let own: [ConsoleRoute] = [
        ConsoleRoute(.get, "audit", .viewer) { try await $0.audited() }
    ]

    /// The route that answers a call, and what stands in the path where it has parameters.
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

/// One route: who may use it, and what answers.
package struct ConsoleRoute: Sendable {
    package let method: Method
    package let path: [String]
    package let least: ConsoleRole
    package let effect: Effect
    /// Whether it is for who has lately shown to be the operator.
    let isConfirmed: Bool
    let handler: @Sendable (ConsoleCall) async throws -> Reply

    package enum Effect {
        case nothing
        /// What is the caller's own: sessions, the second factor.
        case account
        case deployment
    }

    /// - Parameters:
    ///   - path: Components with slashes between them; those that begin with a colon are parameters.
    ///   - effect: What it changes; nil for what its method says.
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

/// A call of a route whose role has been checked.
struct ConsoleCall {
    let interface: ConsoleInterface
    let visit: ConsoleVisit
    let session: StoredOperatorSession
    let role: ConsoleRole
    let arguments: [String]

    /// The query, each value as JSON if it parses, else as a text.
    var query: JSONObject {
        visit.request.target.split(separator: "?", maxSplits: 1).dropFirst().first.map { FormEncoding.values($0) }
            ?? [:]
    }

    /// The query, each value as a text.
    var texts: JSONObject {
        visit.request.target.split(separator: "?", maxSplits: 1).dropFirst().first
            .map { FormEncoding.strings($0) } ?? [:]
    }

    /// The body; throws ``HTTPError`` for what is no JSON object.
    func body() async throws -> JSONObject {
        try await interface.dispatcher.body(of: visit.request, upTo: ConsoleInterface.largestBody)
    }

    /// Does something that changes the deployment, with an entry in the audit before and after.
    ///
    /// - Parameters:
    ///   - className: The class that it is about.
    ///   - ids: The objects that it is about.
    ///   - count: How many these are, where they are not named.
    ///   - fields: What it sets.
    func audited(
        _ path: String, className: String? = nil, ids: [String] = [], count: Int = 1, fields: [String] = [],
        _ body: () async throws -> Reply
    ) async throws -> Reply {
        var entry = interface.entry(visit, session, path)
        entry.className = className
        entry.ids = ids
        entry.count = count
        entry.fields = fields
        let rows = interface.backend.store.audit
        let id = try await rows.begin(entry)
        let reply: Reply
        do {
            reply = try await body()
        } catch {
            reply = interface.dispatcher.reply(to: error, visit.request)
        }
        await rows.complete(id, status: reply.status, ids: nil, after: nil)
        return reply
    }

    /// Who changed what.
    fileprivate func audited() async throws -> Reply {
        let query = query
        guard !JSONBody.containsNull(query) else { throw JSONBody.nullCharacter }
        return .object(try await interface.backend.store.audit.answer(query))
    }
}

/// Answers of one page of the console: each page has a type of its own, over the call.
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
