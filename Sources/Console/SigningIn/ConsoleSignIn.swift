import Encoding
import HTTP
import JSON
internal import Operations
internal import ParseModel
package import ParseStorage
internal import REST
internal import ServerConfiguration
import Synchronization

/// The ways into the console.
package struct ConsoleSignIn: Sendable {
    let backend: Backend
    let dispatcher: ConsoleDispatcher
    let attempts: SignInAttempts
    /// The ticket of the address that this process shows. It needs no table, and so makes none.
    private let ownTicket = OwnTicket()
    let factor: OperatorFactor

    init(backend: Backend, dispatcher: ConsoleDispatcher, attempts: SignInAttempts) {
        self.backend = backend
        self.dispatcher = dispatcher
        self.attempts = attempts
        factor = OperatorFactor(backend)
    }

    /// How a session ends at the latest, in seconds.
    static let longest = 7 * 86_400
    /// How long a ticket is valid, in seconds.
    static let ticketLength = 600

    private var signsInWithoutForm: Bool { backend.configuration.console.signIn == .thisMachine }

    /// The ways that there are.
    var ways: [JSONValue] { ["operator", "masterKey"] + (signsInWithoutForm ? ["thisMachine"] : []) }

    /// What signing in comes to.
    enum Outcome {
        case session(StoredOperatorSession)
        /// Something is wrong; what is not said.
        case wrong
        /// Name and password are right, and a code of the second factor is missing, wrong or spent.
        case needsCode
        /// There were too many attempts.
        case tooMany(retryAfter: Int)
    }

    /// Finds out who signs in.
    ///
    /// - Parameter isLocal: Whether the browser is on this machine.
    func signIn(_ body: JSONObject, from address: String, isLocal: Bool) async throws -> Outcome {
        if body.isEmpty, signsInWithoutForm, isLocal {
            return .session(StoredOperatorSession(name: Self.thisMachine, role: ConsoleRole.owner.rawValue))
        }
        let name = body["name"]?.stringValue
        if let seconds = try await attempts.begin(name: name, from: address) { return .tooMany(retryAfter: seconds) }
        let outcome = try await outcome(of: body, name, from: address)
        switch outcome {
        case .session: try await attempts.succeed(name: name, from: address)
        // Asking for the code is no failure; a wrong code is.
        case .needsCode where body["code"] == nil: try await attempts.succeed(name: name, from: address)
        case .needsCode: try await attempts.failCode(name: name)
        default: break
        }
        return outcome
    }

    private func outcome(of body: JSONObject, _ name: String?, from address: String) async throws -> Outcome {
        if let key = body["masterKey"]?.stringValue {
            switch dispatcher.power(ofKey: key, from: address) {
            case (.master, let administrator)?:
                let name = administrator.map { Operators.keyPrefix + $0 } ?? "master key"
                return .session(StoredOperatorSession(name: name, role: ConsoleRole.owner.rawValue))
            case (.readOnlyMaster, _)?:
                return .session(
                    StoredOperatorSession(name: "read-only master key", role: ConsoleRole.viewer.rawValue))
            default: return .wrong
            }
        }
        if let ticket = body["ticket"]?.stringValue {
            let hash = ConsoleSecrets.hash(ticket)
            if ownTicket.take(hash) { return .session(Self.ticketSession) }
            return try await backend.store.operatorSessions.take(ticket: hash).map { .session($0) } ?? .wrong
        }
        guard let name, let password = body["password"]?.stringValue,
            let known = try await backend.operators.verify(name: name, password: password, from: address)
        else { return .wrong }
        guard try await factor.admits(known, code: body["code"]?.stringValue) else { return .needsCode }
        return .session(
            StoredOperatorSession(
                operatorId: known.id, name: known.name, role: known.role, hasFactor: known.secret != nil,
                limits: known.limits, proof: known.hash))
    }

    /// Finds out whether who signed in is still there: an operator by the password, and the code where there is a second
    /// factor; others by the master key; those who needed no form need none.
    ///
    /// - Parameter isLocal: Whether the browser is on this machine.
    func confirm(_ session: StoredOperatorSession, _ body: JSONObject, from address: String, isLocal: Bool) async throws
        -> Outcome
    {
        if session.operatorId == nil, session.name == Self.thisMachine {
            return signsInWithoutForm && isLocal ? .session(session) : .wrong
        }
        var proof: JSONObject = [:]
        if session.operatorId == nil {
            proof["masterKey"] = body["masterKey"]?.stringValue.map { .string($0) } ?? ""
        } else {
            proof = ["name": .string(session.name), "password": body["password"] ?? ""]
            proof["code"] = body["code"]
        }
        let outcome = try await signIn(proof, from: address, isLocal: isLocal)
        guard case .session(let shown) = outcome else { return outcome }
        return shown.operatorId == session.operatorId && shown.role == session.role ? outcome : .wrong
    }

    private static let thisMachine = "this machine"

    private static let ticketSession = StoredOperatorSession(name: "ticket", role: ConsoleRole.owner.rawValue)

    /// Makes a ticket, which opens a session of an owner once; the one before is void.
    func ticket() -> String {
        let ticket = ConsoleSecrets.make()
        ownTicket.put(ConsoleSecrets.hash(ticket), for: .seconds(Self.ticketLength))
        return ticket
    }

    /// The same, for the command beside the server, by the database.
    package static func ticket(in store: ObjectStore) async throws -> String {
        let ticket = ConsoleSecrets.make()
        try await store.operatorSessions.open(
            ticketSession, token: ConsoleSecrets.hash(ticket), cookie: nil, seconds: ticketLength, address: "",
            agent: "")
        return ticket
    }
}

/// A ticket that this process keeps itself, by its hash.
private final class OwnTicket: Sendable {
    private let kept = Mutex<(hash: [UInt8], end: ContinuousClock.Instant)?>(nil)

    func put(_ hash: [UInt8], for duration: Duration) { kept.withLock { $0 = (hash, .now + duration) } }

    /// Whether a hash is that of the ticket, which is gone then.
    func take(_ hash: [UInt8]) -> Bool {
        kept.withLock { kept in
            guard let ticket = kept, ticket.hash == hash else { return false }
            kept = nil
            return ticket.end > .now
        }
    }
}
