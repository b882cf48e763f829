import App
import ArgumentParser
import Platform
import ServerConfiguration

struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Prints a sign-in link for the console, or adds an operator.",
        subcommands: [ConsoleOpenCommand.self, ConsoleOperatorCommand.self])
}

struct ConsoleOpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Prints a sign-in link for the console, valid once, for ten minutes.",
        usage: "roost console open [roost.json] [--OPTION VALUE ...]",
        discussion: "\(CommandRun.exitHelp). See docs/console.md.")

    @Argument(parsing: .allUnrecognized, help: CommandRun.configurationHelp)
    var arguments: [String] = []

    func run() async throws {
        let arguments = arguments
        try await CommandRun.run(isForScripts: false) {
            print(try await ConsoleAccess(CommandRun.deployment(arguments)).open())
            return 0
        }
    }
}

struct ConsoleOperatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "operator",
        abstract: "Adds an operator of the console. Reads the password from standard input.",
        usage: "roost console operator NAME ROLE [roost.json] [--OPTION VALUE ...]",
        discussion: """
            ROLE is owner, developer, editor or viewer.

            \(CommandRun.exitHelp). See docs/console.md.
            """)

    @Argument(parsing: .allUnrecognized, help: CommandRun.configurationHelp)
    var arguments: [String] = []

    func run() async throws {
        let (name, rest) = try CommandRun.target(arguments, called: "name of the operator", of: Self.self)
        let (role, others) = try CommandRun.target(
            rest, called: "name of the operator, and the second the role", of: Self.self)
        try await CommandRun.run(isForScripts: false) {
            let access = try ConsoleAccess(CommandRun.deployment(others))
            // At a terminal, `getpass` hides the password.
            let isTyped = isatty(STDIN_FILENO) == 1
            let password = isTyped ? getpass("Password of \(name): ").map { String(cString: $0) } : readLine()
            guard let password, !password.isEmpty else {
                throw ConfigurationError("the password is empty. Type it, or pass it on standard input")
            }
            try await access.addOperator(name: name, password: password, role: role)
            print("Added the operator \(name) with the role \(role).")
            return 0
        }
    }
}
