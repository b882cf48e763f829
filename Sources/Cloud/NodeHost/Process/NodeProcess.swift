import Limits
import NIOPosix
import Platform
import Subprocess

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// One Node process from start to end. It doesn't outlive the server, because it watches its parent process.
enum NodeProcess {
    struct Command: Sendable {
        var node: String
        var arguments: [String]
        var folder: String
        /// The changes to the environment, with nil for variables to remove.
        var environment: [String: String?]
    }

    /// Runs a process to its end.
    ///
    /// - Parameters:
    ///   - isOver: Once set, the process has two seconds to end before it is killed.
    ///   - started: Receives the process id.
    ///   - lines: Receives the lines of its output.
    ///   - silent: Called when the output ends: when the process closes it or ends.
    /// - Returns: A description of how it ended.
    /// - Throws: An error if it can't be started.
    static func run(
        _ command: Command, until isOver: OneTime<Void>, on group: MultiThreadedEventLoopGroup,
        started: @escaping @Sendable (Int32) -> Void, lines: @escaping @Sendable (String) -> Void,
        silent: @escaping @Sendable () -> Void
    ) async throws -> String {
        let pipe = try FileDescriptor.pipe()
        let isSilent = OneTime<Void>()
        let output = try await NIOPipeBootstrap(group: group).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let handler = OutputLines(write: lines) {
                    silent()
                    isSilent.set(())
                }
                try channel.pipeline.syncOperations.addHandler(handler)
            }
        }.takingOwnershipOfDescriptor(input: pipe.readEnd.rawValue).get()
        var options = PlatformOptions()
        // Ctrl-C in the terminal only reaches the server, which ends the process when it has finished.
        options.createSession = true
        var changes: [Environment.Key: String?] = [:]
        for (name, value) in command.environment { changes.updateValue(value, forKey: .init(stringLiteral: name)) }
        let configuration = Subprocess.Configuration(
            executable: .path(FilePath(command.node)), arguments: Arguments(command.arguments),
            environment: .inherit.updating(changes), workingDirectory: FilePath(command.folder),
            platformOptions: options)
        let result = try await Subprocess.run(
            configuration, input: .none,
            output: .fileDescriptor(pipe.writeEnd, closeAfterSpawningProcess: true), error: .combinedWithOutput
        ) { execution in
            started(execution.processIdentifier.value)
            _ = await isOver.wait()
            _ = await isSilent.wait(.seconds(2))
            if isSilent.value == nil { try? execution.send(signal: .kill) }
        }
        // A child of the process may keep the output open.
        try? await output.close()
        return "\(result.terminationStatus)"
    }
}
