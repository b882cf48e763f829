import CloudCode
import Synchronization

struct WorkerOwner: Sendable {
    /// The registry of running worker processes.
    let living = LivingWorkers()
    /// Receives the registrations of the file.
    var offer: @Sendable (HostOffer) -> Void
    /// Performs the SDK's requests to the server.
    var perform: @Sendable (InternalRequest) async -> InternalReply
    /// Sends a mail for the code, or nil if mail is not configured.
    var sendMail: NodeHost.SendMail?
}

/// All running processes, including those that are starting or ending.
final class LivingWorkers: Sendable {
    private let workers = Mutex<[ObjectIdentifier: NodeWorker]>([:])

    var all: [NodeWorker] { workers.withLock { Array($0.values) } }

    func add(_ worker: NodeWorker) { workers.withLock { $0[ObjectIdentifier(worker)] = worker } }

    func remove(_ worker: NodeWorker) { workers.withLock { $0[ObjectIdentifier(worker)] = nil } }
}
