import CloudCode
import Synchronization

struct WorkerOwner: Sendable {
    /// Where it is known as long as it has not ended.
    let living = LivingWorkers()
    /// Takes all that the file offers.
    var offer: @Sendable (HostOffer) -> Void
    /// Carries out the requests of the code.
    var perform: @Sendable (InternalRequest) async -> InternalReply
    /// Sends a mail of the code, or throws why it cannot; nil where nothing sends mails.
    var sendMail: NodeHost.SendMail?
}

/// The processes that have not ended: those that take calls, those that start, and those that end.
final class LivingWorkers: Sendable {
    private let workers = Mutex<[ObjectIdentifier: NodeWorker]>([:])

    var all: [NodeWorker] { workers.withLock { Array($0.values) } }

    func add(_ worker: NodeWorker) { workers.withLock { $0[ObjectIdentifier(worker)] = worker } }

    func remove(_ worker: NodeWorker) { workers.withLock { $0[ObjectIdentifier(worker)] = nil } }
}
