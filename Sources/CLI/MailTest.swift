import App
import ArgumentParser
import Foundation

/// `roost mail test`: sends one mail, and tells what the server said.
struct MailTest: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Sends a mail to an address, and tells what the mail server answers.",
        usage: "roost mail test ADDRESS [configuration]",
        discussion: "\(CommandRun.exitHelp). See docs/accounts.md.")

    @Argument(parsing: .allUnrecognized, help: CommandRun.configurationHelp)
    var arguments: [String] = []

    func run() async throws {
        let (address, rest) = try CommandRun.target(arguments, called: "address")
        try await CommandRun.run(isForScripts: false) {
            let deployment = try Deployment(
                arguments: rest, environment: ProcessInfo.processInfo.environment, needsKeys: false)
            print(try await TestMail(deployment).send(to: address))
            return 0
        }
    }
}
