import Encoding
import Platform

/// A folder that appears under its name only when it is complete. Until then it is a hidden folder next to the target,
/// locked by one process. If that process is killed, the next one deletes the contents.
package final class FreshFolder: Sendable {
    package let path: String
    private let target: String
    private let descriptor: Int32

    /// Creates and locks the hidden folder.
    ///
    /// - Parameter target: The final path: an empty folder, or a path that doesn't exist.
    /// - Throws: `CommandFailure`, or the error of removing a killed process's leftovers.
    package init(target: String) throws {
        let files = FileManager.default
        // Resolved, so that a symbolic link to a folder isn't replaced.
        let target = URL(fileURLWithPath: target).standardizedFileURL.resolvingSymlinksInPath()
        let parent = target.deletingLastPathComponent().path
        self.target = target.path
        path = "\(parent)/.\(target.lastPathComponent).partial"
        try Self.checkEmpty(self.target)
        do {
            try files.createDirectory(atPath: parent, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure("\(parent) can't be created: \(ErrorText.reason(error))")
        }
        descriptor = try Self.openLocked(path)
    }

    deinit {
        Self.release(descriptor)
    }

    /// Unlocks a folder explicitly: a process that another thread just forked may hold the descriptor a moment longer.
    private static func release(_ descriptor: Int32) {
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static func checkEmpty(_ target: String) throws {
        var status = stat()
        guard stat(target, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw CommandFailure("\(target) is not a folder") }
        let entries = try? FileManager.default.contentsOfDirectory(atPath: target)
        guard entries?.isEmpty ?? false else { throw CommandFailure("\(target) is not empty. Choose another folder") }
    }

    private static func openLocked(_ path: String) throws -> Int32 {
        for _ in 1...2 {
            if mkdir(path, 0o700) != 0, errno != EEXIST {
                throw CommandFailure("\(path) can't be created: \(SystemError())")
            }
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { throw CommandFailure("\(path) can't be used: \(SystemError())") }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                close(descriptor)
                throw CommandFailure("another process is writing \(path)")
            }
            do {
                let entries = try FileManager.default.contentsOfDirectory(atPath: path)
                if entries.isEmpty { return descriptor }
                // These are leftovers of a killed process.
                for entry in entries { try FileManager.default.removeItem(atPath: path + "/" + entry) }
            } catch {
                release(descriptor)
                throw error
            }
            release(descriptor)
        }
        throw CommandFailure("\(path) is in use by another process")
    }

    func makeFolder(_ name: String) throws {
        guard mkdir(path + "/" + name, 0o700) == 0 else {
            throw CommandFailure("\(name) can't be created: \(SystemError())")
        }
    }

    /// Syncs the folder and renames it to the target.
    ///
    /// - Throws: `CommandFailure`, also if a target that isn't empty was created meanwhile.
    package func appear() throws {
        fsync(descriptor)
        guard rename(path, target) == 0 else {
            throw CommandFailure("can't rename \(path) to \(target): \(SystemError())")
        }
        Self.syncName(of: target)
    }

    /// Syncs the parent folder, so that the new name survives a power failure.
    static func syncName(of target: String) {
        let parent = open(FilePaths.folder(of: target), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { return }
        fsync(parent)
        close(parent)
    }

    package func abandon() { try? FileManager.default.removeItem(atPath: path) }
}
