import App
import ArgumentParser
import Foundation

/// `roost mail preview`: all mails and pages, with made-up values, as files.
struct MailPreview: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview",
        abstract: "Writes all mails and pages, in each language, into a folder.",
        usage: "roost mail preview FOLDER [configuration]",
        discussion: """
            The folder is made where it is missing; open its index.html.

            \(CommandRun.exitHelp). See docs/accounts.md.
            """)

    @Argument(parsing: .allUnrecognized, help: CommandRun.configurationHelp)
    var arguments: [String] = []

    func run() async throws {
        let (folder, rest) = try CommandRun.target(arguments, called: "folder to write")
        try await CommandRun.run(isForScripts: false) {
            let deployment = try Deployment(
                arguments: rest, environment: ProcessInfo.processInfo.environment, needsKeys: false)
            let count = try MailFolder(deployment).write(into: folder)
            print("\(count) files are in \(folder). Open \(folder)/index.html.")
            return 0
        }
    }
}
