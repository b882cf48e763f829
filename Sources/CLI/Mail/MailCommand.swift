import App
import ArgumentParser
import Mail

struct MailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mail",
        abstract: "Previews emails and pages, or sends a test email.",
        subcommands: [MailPreview.self, MailTest.self])
}

struct MailPreview: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview",
        abstract: "Writes all emails and pages, in each language, to a folder.",
        usage: "roost mail preview FOLDER [roost.json] [--OPTION VALUE ...]",
        discussion: """
            Creates the folder if it is missing. Open its index.html.

            \(CommandRun.exitHelp). See docs/accounts.md.
            """)

    @Argument(parsing: .allUnrecognized, help: CommandRun.configurationHelp)
    var arguments: [String] = []

    func run() async throws {
        let (folder, rest) = try CommandRun.target(arguments, called: "folder to write", of: Self.self)
        try await CommandRun.run(isForScripts: false) {
            let deployment = try CommandRun.deployment(rest)
            let count = try MailFolder(deployment).write(into: folder)
            print("Wrote \(count) files to \(folder). Open \(folder)/index.html.")
            return 0
        }
    }
}

struct MailTest: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Sends a test email to an address and prints the mail server's response.",
        usage: "roost mail test ADDRESS [roost.json] [--OPTION VALUE ...]",
        discussion: "\(CommandRun.exitHelp). See docs/accounts.md.")

    @Argument(parsing: .allUnrecognized, help: CommandRun.configurationHelp)
    var arguments: [String] = []

    func run() async throws {
        let (address, rest) = try CommandRun.target(arguments, called: "address", of: Self.self)
        try await CommandRun.run(isForScripts: false) {
            let deployment = try CommandRun.deployment(rest)
            print(try await MailTrial.send(to: address, deployment.configuration))
            return 0
        }
    }
}
