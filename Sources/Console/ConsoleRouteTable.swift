import Encoding
import HTTP
import JSON
internal import Operations
internal import ParseModel
internal import ParseStorage

/// The routes of the console beside the session and the interface of apps.
enum ConsoleRouteTable {
    /// The routes.
    static let all = own + rows + exports + imports + uploads + tasks + account + performance

    private static let own: [ConsoleRoute] = [
        ConsoleRoute(.get, "audit", .viewer, keepsLimits: true) { try await $0.audited() },
        ConsoleRoute(.get, "operators", .owner) { try await $0.operators() },
        ConsoleRoute(.post, "operators", .owner, isConfirmed: true) { try await $0.addOperator() },
        ConsoleRoute(.put, "operators/:id", .owner, isConfirmed: true) { try await $0.changeOperator() },
        ConsoleRoute(.delete, "operators/:id", .owner, isConfirmed: true) { try await $0.removeOperator() },
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
struct ConsoleRoute: Sendable {
    let method: Method
    let path: [String]
    /// The least role that may use it.
    let least: ConsoleRole
    let effect: Effect
    /// Whether it is for who has lately shown to be the operator.
    let isConfirmed: Bool
    /// Whether what it answers and changes keeps to the classes and fields that an operator is limited to.
    let keepsLimits: Bool
    let handler: @Sendable (ConsoleCall) async throws -> Reply

    /// What a route changes.
    enum Effect {
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
        keepsLimits: Bool = false,
        _ handler: @escaping @Sendable (ConsoleCall) async throws -> Reply
    ) {
        self.method = method
        self.path = path.split(separator: "/").map { String($0) }
        self.least = least
        self.isConfirmed = isConfirmed
        self.keepsLimits = keepsLimits
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
    /// The classes and fields that the operator is limited to; nil for one who is not.
    let limits: OperatorLimits?
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

    /// The body.
    ///
    /// - Throws: ``HTTPError`` for what is no JSON object.
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
        try await rows.complete(id, status: reply.status, ids: nil, after: nil)
        return reply
    }

    /// The classes that a limited operator knows.
    func known(_ limits: OperatorLimits) -> [Name] {
        limits.classes?.filter(limits.shows).sorted()
            ?? interface.backend.catalog.snapshot.classes.keys.filter(limits.shows).sorted()
    }

    /// Judges what a limited operator asks; nil for an operator who is not limited.
    var reads: LimitedReads? {
        let catalog = interface.backend.catalog
        return limits.map { LimitedReads($0) { catalog.schema($0.text) } }
    }

    /// Who changed what.
    fileprivate func audited() async throws -> Reply {
        let query = query
        guard !JSONBody.containsNull(query) else { throw JSONBody.nullCharacter }
        var answer = try await interface.backend.store.audit.answer(
            query, classNames: limits.map { limits in known(limits).texts })
        if let limits, let rows = answer["rows"]?.arrayValue {
            answer["rows"] = .array(rows.map(LimitedAnswers(limits: limits).audited))
        }
        return .object(answer)
    }
}

/// Operators, by an owner.
extension ConsoleCall {
    fileprivate func operators() async throws -> Reply {
        let all = try await interface.backend.store.operators.all()
        return .object([
            "operators": .array(
                all.map { known in
                    let own: JSONObject = [
                        "id": .string(known.id), "name": .string(known.name), "role": .string(known.role),
                        "totp": .bool(known.secret != nil),
                    ]
                    return .object(own.merging(known.limits ?? [:]) { own, _ in own })
                })
        ])
    }

    fileprivate func addOperator() async throws -> Reply {
        let body = try await body()
        let name = body["name"]?.stringValue ?? ""
        let role = try role(body["role"]) ?? .viewer
        let limits = try limits(in: body)
        try check(limits, for: role)
        return try await audited("operators", fields: ["name", "role", "password"] + limits.keys.texts) {
            let id = try await interface.backend.operators.add(
                name: name, password: body["password"]?.stringValue ?? "", role: role.rawValue,
                limits: limits, from: visit.address)
            return .object(["id": .string(id), "name": .string(name), "role": .string(role.rawValue)], status: 201)
        }
    }

    fileprivate func changeOperator() async throws -> Reply {
        let body = try await body()
        let role = try role(body["role"])
        let limits = try limits(in: body)
        guard let known = try await interface.backend.store.operators.all().first(where: { $0.id == arguments[0] })
        else { throw ParseError(ParseError.objectNotFound, "There is no such operator.") }
        let kept = (known.limits ?? [:]).merging(limits) { $1 }.filter { !$0.value.isNull }
        try check(kept, for: role ?? ConsoleRole(rawValue: known.role) ?? .owner)
        guard body["totp"] == nil || body["totp"] == false else {
            throw HTTPError(status: 400, message: "A second factor is turned on by whose it is.")
        }
        return try await audited(
            "operators/\(arguments[0])",
            fields: ["role", "password", "totp", "classes", "hidden"].filter { body[Name($0)] != nil }
        ) {
            try await interface.backend.operators.change(
                id: arguments[0], password: body["password"]?.stringValue, role: role?.rawValue, limits: limits,
                dropsFactor: body["totp"] == false, from: visit.address)
            return .object([:])
        }
    }

    fileprivate func removeOperator() async throws -> Reply {
        try await audited("operators/\(arguments[0])") {
            guard try await interface.backend.store.operators.remove(id: arguments[0]) else {
                throw ParseError(ParseError.objectNotFound, "There is no such operator.")
            }
            return .object([:])
        }
    }

    private func role(_ value: JSONValue?) throws -> ConsoleRole? {
        guard let value, !value.isNull else { return nil }
        guard let role = value.stringValue.flatMap(ConsoleRole.init(rawValue:)) else {
            throw HTTPError(status: 400, message: "A role is owner, developer, editor or viewer.")
        }
        return role
    }

    /// The limits that a body sets, or takes off by null.
    private func limits(in body: JSONObject) throws -> JSONObject {
        var limits = body.filter { ["classes", "hidden"].contains($0.key) }
        _ = try OperatorLimits(json: limits)
        if limits["hidden"] == [:] { limits["hidden"] = .null }
        return limits
    }

    /// Who changes classes and settings sees all of them.
    private func check(_ limits: JSONObject, for role: ConsoleRole) throws {
        guard limits.values.allSatisfy(\.isNull) || role <= .editor else {
            throw HTTPError(status: 400, message: "Only editors and viewers are limited to classes and fields.")
        }
    }
}
