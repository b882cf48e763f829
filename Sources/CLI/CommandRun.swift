import App
import ArgumentParser
import Platform
import ServerConfiguration

/// Shared code of the commands other than `roost serve`: configuration and exit status.
enum CommandRun {
    static let configurationHelp = ArgumentHelp(
        "The configuration file, and options as for roost serve: roost.json --databaseURI postgres://…",
        valueName: "roost.json")

    static let exitHelp = "Exit status: 0 done, 1 failed, 64 wrong arguments, 130 stopped by a signal"

    /// Runs a command until it ends or a signal interrupts it.
    ///
    /// - Parameter isForScripts: Whether to also write the reason of a failure to standard output, as JSON.
    /// - Throws: `ExitCode` if the status isn't 0.
    static func run(isForScripts: Bool, _ body: @escaping @Sendable () async throws -> Int32) async throws {
        let status: Int32
        do {
            status = try await Interruption.ofProcess().guarding(body)
        } catch is Interruption.Signalled {
            status = fail("stopped by a signal", isForScripts, 130)
        } catch {
            status = fail(ErrorText.of(error), isForScripts, ErrorText.status(of: error))
        }
        if status != 0 { throw ExitCode(status) }
    }

    private static func fail(_ message: String, _ isForScripts: Bool, _ status: Int32) -> Int32 {
        if isForScripts { ProgressLines.printLine(["event": "failed", "reason": .string(message)]) }
        ErrorText.report(message)
        return status
    }

    /// Returns the deployment that the arguments configure. The application's id and keys aren't required.
    ///
    /// - Throws: `ConfigurationError`.
    static func deployment(_ arguments: [String]) throws -> Deployment {
        try Deployment(arguments: arguments, environment: ProcessInfo.processInfo.environment, needsKeys: false)
    }

    /// Returns the first argument, which names the command's target, such as a file, and the remaining arguments.
    ///
    /// - Parameter isURI: Whether the target may be a URI.
    /// - Throws: `ExitCode` if the first argument is missing, a flag, a disallowed URI, or contains credentials.
    static func target(
        _ arguments: [String], called name: String, isURI: Bool = false, of command: any ParsableCommand.Type
    ) throws -> (target: String, rest: [String]) {
        guard let first = arguments.first, !first.hasPrefix("-"), !first.isEmpty else {
            throw mistake("the first argument must be the \(name)", of: command)
        }
        guard isURI || !first.contains("://") else { throw mistake("the \(name) can't be a URI", of: command) }
        guard isURI || Setting.withoutCredentials(first) == first else {
            throw mistake("the \(name) can't contain credentials", of: command)
        }
        return (first, Array(arguments.dropFirst()))
    }

    /// Reports wrong arguments with the command's usage line. Returns the exit code to throw.
    static func mistake(_ message: String, of command: any ParsableCommand.Type) -> ExitCode {
        ErrorText.report("\(message). Usage: \(command.configuration.usage ?? "roost --help")")
        return .validationFailure
    }
}

/// The arguments of commands whose output scripts can read.
struct ScriptArguments: ParsableArguments {
    @Flag(help: "Print the results as lines of JSON.")
    var json = false

    @Argument(parsing: .allUnrecognized, help: CommandRun.configurationHelp)
    var arguments: [String] = []

    /// Runs a command with the deployment and the output given by the arguments.
    ///
    /// - Parameter rest: The arguments of the deployment, or nil for all.
    /// - Throws: `ExitCode` if the status isn't 0.
    func run(
        _ rest: [String]? = nil, _ body: @escaping @Sendable (Deployment, ProgressLines) async throws -> Int32
    ) async throws {
        let (arguments, isForScripts) = (rest ?? arguments, json)
        try await CommandRun.run(isForScripts: isForScripts) {
            try await body(CommandRun.deployment(arguments), ProgressLines(isForScripts: isForScripts))
        }
    }
}
