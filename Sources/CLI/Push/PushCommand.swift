import App
import ArgumentParser
import Push

struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Checks push notifications, or sends a test notification.",
        subcommands: [PushCheckCommand.self, PushTestCommand.self])

    /// Prints the findings and returns the exit status.
    static func report(_ findings: [PushTrial.Finding], isDone: Bool) -> Int32 {
        for finding in findings {
            let service = [finding.type, finding.entry].filter { !$0.isEmpty }.joined(separator: "  ")
            let problem = finding.problem.map { ": \($0)" } ?? ""
            print("\(finding.problem == nil ? "ok    " : "failed")  \(service)  \(finding.step)\(problem)")
        }
        return isDone ? 0 : 1
    }
}

struct PushCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks that push keys can sign and that push services respond. Sends nothing.",
        usage: "roost push check [roost.json] [--OPTION VALUE ...]",
        discussion: "\(CommandRun.exitHelp). See docs/push.md.")

    @Argument(parsing: .allUnrecognized, help: CommandRun.configurationHelp)
    var arguments: [String] = []

    func run() async throws {
        let arguments = arguments
        try await CommandRun.run(isForScripts: false) {
            let findings = try await PushCheck(CommandRun.deployment(arguments)).check()
            return PushCommand.report(findings, isDone: findings.allSatisfy { $0.problem == nil })
        }
    }
}

struct PushTestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Sends a test notification to one device and prints the services' responses.",
        usage: "roost push test DEVICE [roost.json] [--OPTION VALUE ...]",
        discussion: """
            DEVICE is the objectId of an installation, or a type and a token: ios:00fc13adff78… or android:bk3RNwTe…

            \(CommandRun.exitHelp). See docs/push.md.
            """)

    @Argument(parsing: .allUnrecognized, help: CommandRun.configurationHelp)
    var arguments: [String] = []

    func run() async throws {
        let (target, rest) = try CommandRun.target(
            arguments, called: "device: an objectId, or TYPE:TOKEN", isURI: true, of: Self.self)
        try await CommandRun.run(isForScripts: false) {
            let findings = try await PushCheck(CommandRun.deployment(rest)).send(to: target)
            return PushCommand.report(findings, isDone: findings.contains { $0.problem == nil })
        }
    }
}
