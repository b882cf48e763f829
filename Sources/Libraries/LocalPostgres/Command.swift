import Platform
import Subprocess

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

package enum Command {
    /// The environment of PostgreSQL and its programs. The server's own environment contains secrets, which SQL could
    /// read through programs, and settings for other databases, such as PGPORT.
    static let environment = ProcessInfo.processInfo.environment.filter {
        ["PATH", "TZ", "LD_LIBRARY_PATH"].contains($0.key)
    }

    /// Runs a command as an account, and returns its exit status and output.
    ///
    /// Redirects the output to a file, because a server started by the command would keep a pipe open. The command gets
    /// its own session, so that Ctrl-C in the terminal only reaches Roost.
    ///
    /// - Parameters:
    ///   - command: The path of the program and its arguments.
    ///   - log: The file for the output.
    ///   - endsWithCaller: Whether to terminate the command if the task is cancelled.
    /// - Returns: The exit status, or 128 plus the number of the signal that terminated it.
    /// - Throws: ``LocalPostgres/Failure``, or with `endsWithCaller` also `CancellationError`.
    package static func run(
        _ command: [String], as account: Account, in folder: String, log: String, endsWithCaller: Bool = false
    ) async throws -> (status: Int32, output: String) {
        let command = account.wrap(command)
        let status =
            endsWithCaller
            ? try await run(command, folder, log) : try await Task { try await run(command, folder, log) }.value
        let text = (try? Data(contentsOf: URL(fileURLWithPath: log))).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return switch status {
        case .exited(let code): (code, text)
        case .signaled(let signal): (128 + signal, text)
        }
    }

    /// Returns the standard output of a program, or nil if it can't be run or writes more than 1 KB.
    static func output(_ command: [String]) async -> String? {
        try? await Subprocess.run(
            .path(FilePath(command[0])), arguments: Arguments(Array(command.dropFirst())),
            environment: .custom(variables), output: .string(limit: 1024), error: .discarded
        ).standardOutput
    }

    private static var variables: [Subprocess.Environment.Key: String] {
        Dictionary(uniqueKeysWithValues: environment.map { (.init(stringLiteral: $0), $1) })
    }

    private static func run(_ command: [String], _ folder: String, _ log: String) async throws -> TerminationStatus {
        var options = PlatformOptions()
        options.createSession = true
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(5))]
        do {
            let file = try FileDescriptor.open(
                log, .writeOnly, options: [.create, .truncate, .append, .noFollow], permissions: .ownerReadWrite)
            return try await Subprocess.run(
                .path(FilePath(command[0])), arguments: Arguments(Array(command.dropFirst())),
                environment: .custom(variables),
                workingDirectory: FilePath(folder), platformOptions: options,
                output: .fileDescriptor(file, closeAfterSpawningProcess: true), error: .combinedWithOutput
            ).terminationStatus
        } catch {
            try Task.checkCancellation()
            throw LocalPostgres.Failure("\(command[0]) can't be run: \(error)")
        }
    }
}
