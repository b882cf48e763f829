import Foundation

/// Notices when one of the files changes that code is made of.
struct FileWatch {
    private static let endings: Set<String> = ["js", "mjs", "cjs", "json"]
    private static let most = 10_000

    private let folder: String

    /// - Parameter main: The app's file; those in its folder and below are watched, those of packages are not.
    init(main: String) { folder = (main as NSString).deletingLastPathComponent }

    /// Calls back when files have changed and stay as they are for half a second, until the task is cancelled.
    func run(_ changed: () async -> Void) async {
        var known = snapshot()
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(500))
            var current = snapshot()
            guard current != known, !Task.isCancelled else { continue }
            var previous = known
            while current != previous {
                previous = current
                try? await Task.sleep(for: .milliseconds(500))
                if Task.isCancelled { return }
                current = snapshot()
            }
            known = current
            await changed()
        }
    }

    /// The files with the times at which they were written, and their sizes.
    private func snapshot() -> [String: [Double]] {
        var files: [String: [Double]] = [:]
        let manager = FileManager.default
        guard let entries = manager.enumerator(atPath: folder) else { return files }
        while let name = entries.nextObject() as? String, files.count < Self.most {
            let last = (name as NSString).lastPathComponent
            if last == "node_modules" || last.hasPrefix(".") {
                entries.skipDescendants()
            } else if Self.endings.contains((name as NSString).pathExtension),
                let attributes = try? manager.attributesOfItem(atPath: "\(folder)/\(name)")
            {
                let moment = (attributes[.modificationDate] as? Date)?.timeIntervalSinceReferenceDate ?? 0
                files[name] = [moment, (attributes[.size] as? NSNumber)?.doubleValue ?? 0]
            }
        }
        return files
    }
}
