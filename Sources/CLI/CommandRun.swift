import App
import ArgumentParser
import ServerConfiguration

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What commands beside the server have in common: how they are given the configuration, and how they end.
enum CommandRun {
    static let configurationHelp = ArgumentHelp(
        "The configuration file, and options as for roost serve: roost.json --databaseURI postgres://…",
        valueName: "roost.json")

    static let exitHelp = "Exit status: 0 done, 1 failed, 64 wrong arguments, 130 stopped by a signal"

    /// Runs a command to its end, which a signal brings early.
    ///
    /// - Parameter isForScripts: Whether the reason of a failure is written as JSON to the standard output too.
    /// - Throws: `ExitCode`.
    static func run(isForScripts: Bool, _ body: @escaping @Sendable () async throws -> Int32) async throws {
        let status: Int32
        do {
            status = try await Interruption.guarding(body)
        } catch is Interruption.Signalled {
            status = fail("stopped by a signal", isForScripts, 130)
        } catch {
            status = fail(ErrorText.of(error), isForScripts, 1)
        }
        if status != 0 { throw ExitCode(status) }
    }

    private static func fail(_ message: String, _ isForScripts: Bool, _ status: Int32) -> Int32 {
        if isForScripts { ProgressLines.printLine(["event": "failed", "reason": .string(message)]) }
        ErrorText.report(message)
        return status
    }

    /// The deployment that arguments name; the application need not be named.
    ///
    /// - Throws: `ConfigurationError`, or what kept the file from being read.
    static func deployment(_ arguments: [String]) throws -> Deployment {
        try Deployment(arguments: arguments, environment: ProcessInfo.processInfo.environment, needsKeys: false)
    }

    /// The first of the arguments, which names a file or folder, and those that are left.
    ///
    /// - Throws: `ExitCode` when it is missing or a flag.
    static func target(
        _ arguments: [String], called name: String, of command: any ParsableCommand.Type
    ) throws -> (target: String, rest: [String]) {
        guard let first = arguments.first, !first.hasPrefix("-"), !first.isEmpty else {
            throw mistake("the first argument must be the \(name)", of: command)
        }
        return (first, Array(arguments.dropFirst()))
    }

    /// Reports wrong arguments, with the command's usage line.
    static func mistake(_ message: String, of command: any ParsableCommand.Type) -> ExitCode {
        ErrorText.report("\(message). Usage: \(command.configuration.usage ?? "roost --help")")
        return .validationFailure
    }
}

/// What commands take whose output scripts read.
struct ScriptArguments: ParsableArguments {
    @Flag(help: "Print progress as lines of JSON.")
    var json = false

    @Argument(parsing: .allUnrecognized, help: CommandRun.configurationHelp)
    var arguments: [String] = []
}
