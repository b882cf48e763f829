import CloudCode
import Synchronization

struct WorkerOwner: Sendable {
    /// All processes of the host that haven't ended.
    let living = LivingWorkers()
    /// The handler of the file's registrations.
    var offer: @Sendable (HostOffer) -> Void
    /// The handler of the SDK's requests to the server.
    var perform: @Sendable (InternalRequest) async -> InternalReply
    /// The function that sends emails of the code, or nil if the server itself sends none.
    var sendMail: NodeHost.SendMail?
}

/// All running processes, including those that are starting or ending.
final class LivingWorkers: Sendable {
    private let workers = Mutex<[ObjectIdentifier: NodeWorker]>([:])

    var all: [NodeWorker] { workers.withLock { Array($0.values) } }

    func add(_ worker: NodeWorker) { workers.withLock { $0[ObjectIdentifier(worker)] = worker } }

    func remove(_ worker: NodeWorker) { workers.withLock { $0[ObjectIdentifier(worker)] = nil } }
}
