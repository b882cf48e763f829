import JSON
import Limits
import NIOPosix
import ServerConfiguration
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Runs an app's own `index.js` once to learn how it configures its server. During this run nothing listens. Once the
/// server is created, only functions that are options can open connections.
package enum AppRecording {
    private static let limit = Duration.seconds(30)

    /// Runs the file.
    ///
    /// - Parameter node: The path of Node.
    /// - Returns: The record that `read.mjs` writes.
    /// - Throws: `ConfigurationError` if Node is too old, or if the app fails or creates no server, with its error or
    ///   the last lines of its output. Another error if Node can't run the file.
    static func run(_ file: AppFile, node: String) async throws -> JSONObject {
        try await NodeProgram.checkVersion(of: node)
        let folder = try HostFolder()
        defer { folder.remove() }
        let isOver = OneTime<Void>()
        let lastLines = Mutex<[String]>([])
        let timer = Task {
            try? await Task.sleep(for: limit)
            isOver.set(())
        }
        defer { timer.cancel() }
        let command = NodeProcess.Command(
            node: node, arguments: [folder.reader, file.path], folder: file.folder,
            environment: ["ROOST_RECORD": folder.record])
        _ = try await NodeProcess.run(
            command, until: isOver, on: .singleton, started: { _ in },
            lines: { line in
                lastLines.withLock { lines in
                    lines.append(line)
                    if lines.count > 30 { lines.removeFirst() }
                }
            }, silent: { isOver.set(()) })
        let printed = lastLines.withLock { $0 }.map { "\n\($0)" }.joined()
        guard let data = FileManager.default.contents(atPath: folder.record),
            let record = try? JSONValue(parsing: Array(data)).objectValue
        else {
            throw ConfigurationError(
                "\(file.name) ended early or took over \(limit.components.seconds) s\(printed)")
        }
        guard record["servers"]?.arrayValue?.isEmpty == false else {
            let reason = record["error"]?.stringValue.map { error in
                let isPackageMissing = error.firstMatch(of: #/Cannot find (module|package) '[^'.\/]/#) != nil
                let hint = isPackageMissing ? "\nRun npm install in \(file.folder)" : ""
                return "failed before it created a ParseServer:\n\(error)\(hint)"
            }
            throw ConfigurationError("\(file.name) \(reason ?? "created no ParseServer\(printed)")")
        }
        return record
    }

    /// Returns the preset for a version of parse-server: its major version, limited to 4 through 9, or nil if unknown.
    static func preset(of version: String?) -> Int? {
        guard let version else { return nil }
        let digits = version.drop { !("0"..."9").contains($0) }.prefix { ("0"..."9").contains($0) }
        return Int(digits).map { min(max($0, 4), 9) }
    }
}
