import JSON
import Limits
import NIOPosix
import Platform
import ServerConfiguration
import Synchronization

/// Runs an app's own `index.js` once to learn how it configures its server. During this run nothing listens. Once the
/// server is created, only the functions in the options `masterKey` and `publicServerURL` can open connections.
package enum AppRecording {
    private static let limit = Duration.seconds(30)
    /// The maximum size in megabytes of the heap of the process and of each of its threads.
    private static let memory = 512

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
            node: node, arguments: ["--max-old-space-size=\(memory)", folder.reader, file.path], folder: file.folder,
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

extension ServedApp {
    /// Reads the app that the first argument of `roost serve` names, by running it.
    ///
    /// - Parameters:
    ///   - arguments: The arguments of the command. The file and `--app ID` are removed.
    ///   - environment: The environment variables.
    /// - Returns: The app, or nil if the argument names no JavaScript file.
    /// - Throws: `ConfigurationError` if Node isn't found or the app can't be read, or another error if Node can't run
    ///   it.
    package static func extract(
        from arguments: inout [String], environment: [String: String]
    ) async throws -> ServedApp? {
        let current = FileManager.default.currentDirectoryPath
        guard let first = arguments.first, !first.hasPrefix("--"),
            let file = try AppFile(argument: first, currentFolder: current)
        else { return nil }
        arguments.removeFirst()
        let identifier = value(of: "--app", in: &arguments, isRemoved: true)
        let wanted = value(of: "--cloudNode", in: &arguments, isRemoved: false) ?? environment["ROOST_CLOUD_NODE"]
        let node = try NodeProgram.find(wanted, environment: environment)
        return try ServedApp(file, try await AppRecording.run(file, node: node), identifier: identifier)
    }

    /// Returns the value of a flag, or nil if the flag or its value is missing. Removes both from `arguments` if
    /// `isRemoved`.
    package static func value(of flag: String, in arguments: inout [String], isRemoved: Bool) -> String? {
        guard let index = arguments.firstIndex(where: { $0 == flag || $0.hasPrefix("\(flag)=") }) else { return nil }
        let isPair = arguments[index] == flag
        guard !isPair || index + 1 < arguments.count else { return nil }
        let text = isPair ? arguments[index + 1] : String(arguments[index].dropFirst(flag.count + 1))
        if isRemoved { arguments.removeSubrange(index...(isPair ? index + 1 : index)) }
        return text
    }
}
