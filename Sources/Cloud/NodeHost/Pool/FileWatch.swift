import Encoding
import Platform

/// Watches an app's source files for changes.
struct FileWatch {
    private static let endings: Set<String> = ["js", "mjs", "cjs", "json"]
    private static let maxFiles = 10_000

    private let folder: String

    /// - Parameter main: The app's file. Watches visible scripts and JSON files below its folder, not `node_modules`.
    init(main: String) { folder = FilePaths.folder(of: main) }

    /// Calls `changed` once changed files have stayed the same for half a second, until the task is cancelled.
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

    private func snapshot() -> [String: [Double]] {
        var files: [String: [Double]] = [:]
        let manager = FileManager.default
        var folders = [""]
        while let parent = folders.popLast() {
            let names = (try? manager.contentsOfDirectory(atPath: "\(folder)/\(parent)")) ?? []
            for last in names where last != "node_modules" && !last.hasPrefix(".") {
                guard files.count < Self.maxFiles else { return files }
                let name = parent + last
                guard let attributes = try? manager.attributesOfItem(atPath: "\(folder)/\(name)") else { continue }
                if Self.endings.contains(FilePaths.fileExtension(of: last)) {
                    let moment = (attributes[.modificationDate] as? Date)?.timeIntervalSinceReferenceDate ?? 0
                    files[name] = [moment, (attributes[.size] as? any BinaryInteger).map { Double($0) } ?? 0]
                }
                if attributes[.type] as? FileAttributeType == .typeDirectory { folders.append(name + "/") }
            }
        }
        return files
    }
}
