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

    init(backend: Backend, dispatcher: ConsoleDispatcher, attempts: SignInAttempts) {
        self.backend = backend
        self.dispatcher = dispatcher
        self.attempts = attempts
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
        /// There were too many attempts.
        case tooMany(retryAfter: Int)
    }

    /// Finds out who signs in.
    ///
    /// - Parameter isLocal: Whether the browser is on this machine.
    func signIn(_ body: JSONObject, from address: String, isLocal: Bool) async throws -> Outcome {
        if body.isEmpty, signsInWithoutForm, isLocal {
            return .session(StoredOperatorSession(name: "this machine", role: ConsoleRole.owner.rawValue))
        }
        let name = body["name"]?.stringValue
        if let seconds = try await attempts.begin(name: name, from: address) { return .tooMany(retryAfter: seconds) }
        guard let session = try await session(body, name, from: address) else { return .wrong }
        try await attempts.succeed(name: name, from: address)
        return .session(session)
    }

    private func session(_ body: JSONObject, _ name: String?, from address: String) async throws
        -> StoredOperatorSession?
    {
        if let key = body["masterKey"]?.stringValue {
            switch dispatcher.power(ofKey: key, from: address) {
            case .master: return StoredOperatorSession(name: "master key", role: ConsoleRole.owner.rawValue)
            case .readOnlyMaster:
                return StoredOperatorSession(name: "read-only master key", role: ConsoleRole.viewer.rawValue)
            default: return nil
            }
        }
        if let ticket = body["ticket"]?.stringValue {
            let hash = ConsoleSecrets.hash(ticket)
            if ownTicket.take(hash) { return Self.ticketSession }
            return try await backend.store.operatorSessions.take(ticket: hash)
        }
        guard let name, let password = body["password"]?.stringValue,
            let known = try await backend.operators.verify(name: name, password: password, from: address)
        else { return nil }
        return StoredOperatorSession(operatorId: known.id, name: known.name, role: known.role)
    }

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
            ticketSession, token: ConsoleSecrets.hash(ticket), cookie: nil, seconds: ticketLength, address: "", agent: "")
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
