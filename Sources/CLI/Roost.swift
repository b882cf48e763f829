import App
import ArgumentParser

@main
struct Roost: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "roost",
        abstract: "A Parse-compatible backend on PostgreSQL.",
        version: Version.described,
        subcommands: [
            Serve.self, ImportCommand.self, ExportCommand.self, DoctorCommand.self, BackupCommand.self,
            RestoreCommand.self, FilesCommand.self,
            MailCommand.self, PushCommand.self, ConsoleCommand.self, PrintVersion.self,
        ])

    static func main() async {
        ProcessSettings.apply()
        var arguments = Array(CommandLine.arguments.dropFirst())
        // The help of `roost serve` is generated from the option table.
        if arguments == ["help", "serve"] { arguments = ["serve", "--help"] }
        if let message = UnknownCommand.message(arguments) {
            ErrorText.report(message)
            Roost.exit(withError: ExitCode.validationFailure)
        }
        do {
            var command = try parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
        } catch  where !(error is ExitCode) && exitCode(for: error) == .validationFailure {
            // The message may quote an argument that contains a password, which the report masks.
            ErrorText.report(fullMessage(for: error).replacing("Error: ", with: ""))
            exit(withError: ExitCode.validationFailure)
        } catch {
            exit(withError: error)
        }
    }
}

struct PrintVersion: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version", abstract: "Prints the version and the commit.")

    func run() { print(Version.described) }
}
