import Encoding
import HTTP
import JSON
import Limits
internal import Operations
internal import ParseModel
internal import REST
import Rules

/// A REST API call from the console. Checks the role and runs it. Audits changes and calls with `X-Roost-View-As`.
struct ParseCalls {
    private let interface: ConsoleInterface
    private let visit: ConsoleVisit
    private let session: StoredOperatorSession
    private let role: ConsoleRole

    init(
        _ interface: ConsoleInterface, _ visit: ConsoleVisit, _ session: StoredOperatorSession, _ role: ConsoleRole
    ) {
        self.interface = interface
        self.visit = visit
        self.session = session
        self.role = role
    }

    /// Handles the call.
    ///
    /// - Parameter path: The path below the mount path, with a leading slash.
    /// - Throws: ``HTTPError`` for an invalid or forbidden call, ``ConfirmationNeeded``, or errors of unaudited calls.
    func answer(_ path: Substring) async throws -> Reply {
        let query = visit.request.target.firstIndex(of: "?").map { visit.request.target[$0...] } ?? ""
        guard let target = RequestTarget("\(path)\(query)", mount: "") else {
            throw HTTPError.noRoute(method: visit.request.method, path: path)
        }
        // Rejects viewers' writes before the body is read.
        if role == .viewer, !["GET", "HEAD"].contains(visit.request.method) {
            throw HTTPError(status: 403, message: "Viewers have read-only access.")
        }
        let authority = try authority(target)
        return try await interface.dispatcher.answer(visit.request, target, authority) { envelope, answer in
            try await carryOut(envelope, isView: authority.viewAs != nil, answer)
        }
    }

    private func authority(_ target: RequestTarget) throws -> RequestAuthority {
        let fields = visit.fields
        var viewAs: RequestAuthority.ViewAs?
        if let user = fields.viewAs {
            let isCall = visit.request.method == "POST" && RequestAuthority.isFunction(target.components)
            guard ["GET", "HEAD"].contains(visit.request.method) || isCall else {
                throw HTTPError(status: 400, message: "Requests with X-Roost-View-As are read-only.")
            }
            viewAs = user == "anonymous" ? .anonymous : .user(id: user)
        }
        var ifUpdatedAt: ParseDate?
        if let text = fields.ifUpdatedAt {
            guard let date = ParseDate(iso: text) else {
                throw HTTPError(status: 400, message: "X-Roost-If-Updated-At must be a date.")
            }
            ifUpdatedAt = date
        }
        var shorten: Int?
        if let text = fields.shorten {
            guard let size = Int(text), (1...1_048_576).contains(size) else {
                throw HTTPError(status: 400, message: "X-Roost-Shorten must be a number of bytes from 1 to 1048576.")
            }
            shorten = size
        }
        return RequestAuthority(
            viewAs != nil ? .client : role == .viewer ? .readOnlyMaster : .master, viewAs: viewAs,
            ifUpdatedAt: ifUpdatedAt, shorten: shorten, operatorName: session.name,
            hiddenSecrets: role.hiddenSecrets)
    }

    private func carryOut(_ envelope: Envelope, isView: Bool, _ answer: () async throws -> Reply) async throws -> Reply
    {
        let calls = try interface.dispatcher.calls(of: envelope)
        for call in calls {
            let judged = ConsoleGate.Call(
                path: RouteTable.canonical(call.path), method: call.method.rawValue, onlyReads: call.onlyReads,
                parameters: call.parameters, fields: Array(call.body.keys))
            try interface.check(judged, for: role)
        }
        try await askForConfirmation(calls)
        guard calls.allSatisfy(\.onlyReads) else {
            return try await audited(calls, envelope, isView: isView, answer)
        }
        func read() async throws -> Reply {
            isView ? try await audited(calls, envelope, isView: true, answer) : try await answer()
        }
        guard Self.mayReadMuch(envelope) else { return try await read() }
        return try await interface.finds.run(of: visit.sender) { try await read() }
    }

    private func audited(
        _ calls: [Envelope], _ envelope: Envelope, isView: Bool, _ answer: () async throws -> Reply
    ) async throws -> Reply {
        let entry = try await interface.audit.begin(calls, of: envelope, by: session)
        let reply: Reply
        do {
            reply = try await answer()
        } catch {
            reply = interface.dispatcher.reply(to: error, visit.request)
        }
        // Only responses to creations contain new ids. A function's result may be large.
        var value: JSONValue?
        if entry.creates, !isView, case .json(let bytes) = reply.body {
            value = await HeavyWork.run(.parsing(bytes.count)) { try? JSONValue(parsing: bytes) }
        }
        await interface.audit.complete(entry, status: reply.status, answer: value)
        return reply
    }

    /// The number of objects that a session may delete without a recent confirmation, counted since the last one.
    private static let maxDeletions = 100

    /// Requires a recent confirmation to drop or empty a class, or to delete many objects.
    private func askForConfirmation(_ calls: [Envelope]) async throws {
        guard !session.isConfirmed else { return }
        let deletions = calls.filter { $0.method == .delete }
        guard !deletions.isEmpty else { return }
        let drops = deletions.contains { ["schemas", "purge"].contains(RouteTable.canonical($0.path).first) }
        guard !drops,
            try await interface.backend.store.operatorSessions.mayDelete(
                deletions.count, limit: Self.maxDeletions,
                token: ConsoleSecrets.hash(visit.fields.token ?? ""))
        else { throw ConfirmationNeeded() }
    }

    private static func mayReadMuch(_ envelope: Envelope) -> Bool {
        if ["aggregate", "batch"].contains(RouteTable.canonical(envelope.path).first) { return true }
        return ClassPath.target(of: envelope.path).map { $0.objectId == nil } ?? false
    }
}

extension ConsoleInterface {
    /// Rejects a call that the role may not make, with 403.
    func check(_ call: ConsoleGate.Call, for role: ConsoleRole) throws(HTTPError) {
        let refusal = ConsoleGate.refusal(of: call, for: role) { backend.catalog.schema($0) }
        if let refusal { throw HTTPError(status: 403, message: refusal) }
    }
}
