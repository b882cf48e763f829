import FileStorage
import Logging
import Operations
import Platform

struct FileFeature: Feature {
    let files: any FileStorage
    /// The disk storage, or nil unless it is the only file store.
    let folder: DiskStorage?
    let backend: Backend
    let logger: Logger

    func prepare() async throws {
        do {
            try await files.prepare()
        } catch let error as CocoaError {
            throw CommandFailure(
                "The files folder \(error.filePath ?? "") can't be created: \(ErrorText.reason(error)). Set filesDirectory to "
                    + "a folder that this user may write to.")
        }
        guard let folder else { return }
        do {
            // Other processes warn if they use a different folder.
            backend.caches.begin(filesIn: try await folder.mark())
        } catch {
            logger.warning("can't write .roost-folder to the files folder", metadata: ["error": "\(error)"])
        }
    }

    func run() async { await files.tend() }

    func stop() async { await files.shutdown() }
}
