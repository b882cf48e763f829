import Foundation

/// Keeps a second server off a folder. The system takes the lock away from a process that dies.
final class FolderLock: Sendable {
    private let descriptor: Int32

    /// Takes the lock; nil when another process holds it.
    ///
    /// - Throws: `LocalPostgres.Failure` when the file cannot be written.
    init?(_ path: String) throws {
        descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw LocalPostgres.Failure("\(path) cannot be written") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            return nil
        }
    }

    deinit { close(descriptor) }
}
