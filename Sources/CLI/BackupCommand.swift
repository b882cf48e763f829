import App
import ArgumentParser

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Writes the embedded PostgreSQL and the uploaded files into one file.",
        usage: "roost backup FILE [--json] [roost.json] [--OPTION VALUE ...]",
        discussion: """
            The server may keep running. The file is a tar archive that only its owner can read. It appears once it is \
            complete and verified. Encrypted files stay encrypted.

            \(CommandRun.exitHelp). See docs/maintenance.md.
            """)

    @OptionGroup var archive: ScriptArguments

    func run() async throws {
        try await archive.run(Self.self, called: "file to write") { deployment, file, lines in
            let report = try await Backup(deployment, file: file, logger: LogOutput.quiet) { step in
                lines.done(step.rawValue, ["event": "step", "step": .string(step.rawValue)])
            }.run()
            lines.done(
                "backed up \(DoctorText.bytes(report.size)) as of \(report.time.iso) to \(file)",
                [
                    "event": "done", "file": .string(file), "bytes": .number(Double(report.size)),
                    "time": .string(report.time.iso),
                ])
        }
    }
}

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restores a data folder from a backup.",
        usage: "roost restore FILE [--json] [roost.json] [--OPTION VALUE ...]",
        discussion: """
            The data folder of the configuration must be empty or missing. It appears once the whole backup is unpacked \
            and verified. Nothing is restored from a damaged file.

            \(CommandRun.exitHelp). See docs/maintenance.md.
            """)

    @OptionGroup var archive: ScriptArguments

    func run() async throws {
        try await archive.run(Self.self, called: "backup to restore") { deployment, file, lines in
            let time = try await Restore(deployment, file: file).run()
            lines.done(
                "restored \(deployment.dataFolder) as of \(time)",
                ["event": "done", "folder": .string(deployment.dataFolder), "time": .string(time)])
        }
    }
}

extension ScriptArguments {
    /// Runs a command with the file and the deployment given by the arguments.
    ///
    /// - Parameter name: The file's description in the error if it isn't given.
    /// - Throws: `ExitCode` if the file isn't given or the command fails.
    func run(
        _ command: any ParsableCommand.Type, called name: String,
        _ body: @escaping @Sendable (Deployment, String, ProgressLines) async throws -> Void
    ) async throws {
        let (file, rest) = try CommandRun.target(arguments, called: name, of: command)
        try await run(rest) { deployment, lines in
            try await body(deployment, file, lines)
            return 0
        }
    }
}
