import NIOPosix
import Subprocess
import Tasks

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// One process of Node, from its start to its end. It does not outlive the server: it looks whose child it is.
enum NodeProcess {
    struct Command: Sendable {
        var node: String
        var arguments: [String]
        var folder: String
        /// What is added to the environment; nil takes away.
        var environment: [String: String?]
    }

    /// Runs a process to its end.
    ///
    /// - Parameters:
    ///   - isOver: Once this is set, the process has two seconds to end, and is killed then.
    ///   - started: Takes the number of the process.
    ///   - lines: Takes what it prints.
    ///   - silent: Is called when it has closed its output, which it does when it ends.
    /// - Returns: How it ended, in words.
    /// - Throws: What kept it from being started.
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
        // Ctrl-C at the terminal reaches the server alone, which ends the process when it has finished.
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
        // A program that the process started may hold its output open.
        try? await output.close()
        return "\(result.terminationStatus)"
    }
}
