import Encoding
import HTTP
import JSON
internal import Operations
internal import ParseModel
package import ParseStorage
internal import REST
internal import ServerConfiguration
import Synchronization

package struct ConsoleSignIn: Sendable {
    let backend: Backend
    let dispatcher: ConsoleDispatcher
    let attempts: SignInAttempts
    /// The ticket in the URL that this process prints. Kept in memory only.
    private let ownTicket = OwnTicket()
    private let storedTickets: StoredTickets
    let factor: OperatorFactor

    init(backend: Backend, dispatcher: ConsoleDispatcher, attempts: SignInAttempts) {
        self.backend = backend
        self.dispatcher = dispatcher
        self.attempts = attempts
        factor = OperatorFactor(backend)
        storedTickets = StoredTickets(backend.store.operatorSessions)
    }

    /// The maximum lifetime of a session, in seconds.
    static let longest = 7 * 86_400
    /// The lifetime of a ticket in the database, in seconds.
    static let ticketLength = 600

    let ways: [JSONValue] = ["operator", "masterKey"]

    enum Outcome {
        case session(StoredOperatorSession)
        /// The credentials are wrong. The response doesn't say which part.
        case wrong
        /// The name and password are correct, but the code of the second factor is missing, wrong or was already used.
        case needsCode
        case tooMany(retryAfter: Int)
    }

    /// Authenticates an operator, key or ticket.
    ///
    /// Keys and tickets are checked before throttling, so failed attempts never lock out a valid one.
    func signIn(_ body: JSONObject, from client: ClientAddress) async throws -> Outcome {
        if let session = try await holder(of: body, from: client) { return .session(session) }
        let bringsSecret = body["masterKey"]?.stringValue != nil || body["ticket"]?.stringValue != nil
        let name = bringsSecret ? nil : body["name"]?.stringValue
        if let seconds = try await attempts.begin(name: name, from: client.text) {
            return .tooMany(retryAfter: seconds)
        }
        let outcome = try await outcome(of: body, name, from: client.text)
        switch outcome {
        case .session: try await attempts.succeed(name: name, from: client.text)
        // Only a wrong code counts as a failure, not a missing one.
        case .needsCode where body["code"] == nil: try await attempts.succeed(name: name, from: client.text)
        case .needsCode: try await attempts.failCode(name: name)
        default: break
        }
        return outcome
    }

    private func holder(of body: JSONObject, from client: ClientAddress) async throws -> StoredOperatorSession? {
        if let key = body["masterKey"]?.stringValue {
            switch dispatcher.power(ofKey: key, from: client) {
            case (.master, let administrator)?:
                let name = administrator.map { Operators.keyPrefix + $0 } ?? "master key"
                return StoredOperatorSession(name: name, role: ConsoleRole.owner.rawValue)
            case (.readOnlyMaster, _)?:
                return StoredOperatorSession(name: "read-only master key", role: ConsoleRole.viewer.rawValue)
            default: return nil
            }
        }
        guard let ticket = body["ticket"]?.stringValue, ticket.utf8.count == ConsoleSecrets.length else { return nil }
        let hash = ConsoleSecrets.hash(ticket)
        if !ownTicket.isRight(hash), try await storedTickets.consume(hash) == nil { return nil }
        return StoredOperatorSession(
            name: isOfThisMachine ? Self.thisMachine : Self.ticketName, role: ConsoleRole.owner.rawValue)
    }

    private func outcome(of body: JSONObject, _ name: String?, from address: String) async throws -> Outcome {
        guard let name, let password = body["password"]?.stringValue,
            let known = try await backend.operators.verify(name: name, password: password, from: address)
        else { return .wrong }
        guard try await factor.admits(known, code: body["code"]?.stringValue) else { return .needsCode }
        return .session(
            StoredOperatorSession(
                operatorId: known.id, name: known.name, role: known.role, hasFactor: known.secret != nil,
                proof: known.hash))
    }

    /// Confirms the identity behind a session: operators by password and second factor, other sessions by a master key
    /// with the same role. Sessions of the local development console need no proof.
    func confirm(_ session: StoredOperatorSession, _ body: JSONObject, from client: ClientAddress) async throws
        -> Outcome
    {
        if session.operatorId == nil, session.name == Self.thisMachine, isOfThisMachine { return .session(session) }
        var proof: JSONObject = [:]
        if session.operatorId == nil {
            proof["masterKey"] = body["masterKey"]?.stringValue.map { .string($0) } ?? ""
        } else {
            proof = ["name": .string(session.name), "password": body["password"] ?? ""]
            proof["code"] = body["code"]
        }
        let outcome = try await signIn(proof, from: client)
        guard case .session(let confirmed) = outcome else { return outcome }
        return confirmed.operatorId == session.operatorId && confirmed.role == session.role ? outcome : .wrong
    }

    /// Whether tickets create sessions of the local development console.
    private var isOfThisMachine: Bool { backend.configuration.console.signIn == .thisMachine }

    private static let thisMachine = "this machine"
    private static let ticketName = "owner (link)"

    /// Creates the process's ticket, which opens owner sessions while the process runs. Replaces the previous ticket.
    func ticket() -> String {
        let ticket = ConsoleSecrets.make()
        ownTicket.set(ConsoleSecrets.hash(ticket))
        return ticket
    }

    /// Creates a ticket for `roost console open`. The ticket is stored in the database and opens one session.
    package static func ticket(in store: ObjectStore) async throws -> String {
        let ticket = ConsoleSecrets.make()
        try await store.operatorSessions.open(
            StoredOperatorSession(name: ticketName, role: ConsoleRole.owner.rawValue),
            token: ConsoleSecrets.hash(ticket),
            cookie: nil, seconds: ticketLength, address: "", agent: "")
        return ticket
    }
}

private final class OwnTicket: Sendable {
    private let stored = Mutex("")

    func set(_ hash: [UInt8]) { stored.withLock { $0 = hash.hexadecimal } }

    /// Returns whether the ticket has the given hash. Compares in constant time.
    @inline(never) func isRight(_ hash: [UInt8]) -> Bool {
        ConstantTime.areEqual(hash.hexadecimal, stored.withLock { $0 })
    }
}
