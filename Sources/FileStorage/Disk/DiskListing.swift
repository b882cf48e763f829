import Encoding
import _NIOFileSystem

extension DiskStorage {
    /// Gives the names of all files, in no order, without holding them all.
    ///
    /// - Throws: What `use` throws, or the file system's error. Where there is no folder, there are no files.
    public func visitNames(_ use: (String) async throws -> Void) async throws {
        let path = FilePath(directory)
        guard try await FileSystem.shared.info(forFileAt: path)?.type == .directory else { return }
        let folder = try await FileSystem.shared.openDirectory(atPath: path)
        do {
            for try await entry in folder.listContents() where entry.type == .regular {
                let name = entry.name.string
                // Unfinished uploads and what is not one of ours.
                guard !name.hasPrefix("."), let decoded = PercentEncoding.decode(name) else { continue }
                try await use(decoded)
            }
        } catch {
            try? await folder.close()
            throw error
        }
        try await folder.close()
    }
}
