import App
import ArgumentParser
import Encoding
import JSON
import Platform
import ServerConfiguration

struct FilesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "files",
        abstract: "Checks the file store, copies it to another, or re-encrypts it.",
        subcommands: [FilesCheckCommand.self, FilesCopyCommand.self, FilesRotateCommand.self])
}

struct FilesCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Stores, reads, lists and deletes a test file, and reports what the store rejects.",
        usage: "roost files check [--json] [roost.json] [--OPTION VALUE ...]",
        discussion: "\(CommandRun.exitHelp), 2 the store rejected something. See docs/files.md.")

    @OptionGroup var common: ScriptArguments

    func run() async throws {
        try await common.run { deployment, lines in
            let isGood = try await StoreWork(deployment).check { name, failure in
                let reason = failure.map { JSONValue.string($0) } ?? .null
                lines.done(
                    "\(name): \(failure ?? "done")", ["event": "step", "name": .string(name), "failure": reason])
            }
            return isGood ? 0 : 2
        }
    }
}

struct FilesCopyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copies all files from one store to another.",
        usage: """
            roost files copy [--from STORE] [--to STORE] [--prefix TEXT] [--jobs N] [--dry-run] [--verify] [--json] \
            [roost.json] [--OPTION VALUE ...]
            """,
        discussion: """
            A STORE is `configured` (filesAdapter), `fallback` (filesFallback), a folder, a module name, or an adapter as \
            JSON: {"module":"s3","options":{…}}. Files are copied as they are stored, encrypted or not. Skips files that \
            the other store has in the same size, unless they were replaced since. Run the same command again to continue \
            after an interruption.

            \(CommandRun.exitHelp), 2 done except for files that could not be copied. See docs/files.md.
            """)

    @Option(help: "The store to copy from.")
    var from = "fallback"

    @Option(help: "The store to copy to.")
    var to = "configured"

    @Option(help: "Only files whose names begin with this.")
    var prefix = ""

    @Option(help: "The number of files to copy at a time.")
    var jobs = 8

    @Flag(help: "Only count what would be copied.")
    var dryRun = false

    @Flag(help: "Also compare the contents of files that both stores have, and copy those that differ.")
    var verify = false

    @OptionGroup var common: ScriptArguments

    func validate() throws {
        guard (1...64).contains(jobs) else { throw ValidationError("--jobs must be between 1 and 64") }
        if from == to { throw ValidationError("--from and --to must be different stores") }
    }

    func run() async throws {
        let (from, to, prefix, jobs, isDryRun, verifies) = (from, to, prefix, jobs, dryRun, verify)
        try await common.run { deployment, lines in
            let report = try await StoreWork(deployment).copy(
                from: from, to: to, prefix: prefix, jobs: jobs, isDryRun: isDryRun, verifies: verifies
            ) {
                lines.step("files", $0.copied + $0.skipped, of: nil, unit: "files")
            }
            return Self.end(report, lines, isDryRun ? "to copy" : "copied")
        }
    }

    /// Prints the report and returns the exit status.
    static func end(_ report: StoreWork.CopyReport, _ lines: ProgressLines, _ verb: String) -> Int32 {
        for reason in report.failed {
            lines.done("failed: \(reason)", ["event": "not-copied", "reason": .string(reason)])
        }
        lines.done(
            "\(verb) \(report.copied) files of \(DoctorText.bytes(Int(report.bytes))), \(report.skipped) already there, "
                + "\(report.failed.count) failed",
            [
                "event": "done", "copied": .number(Double(report.copied)), "bytes": .number(Double(report.bytes)),
                "skipped": .number(Double(report.skipped)), "failed": .number(Double(report.failed.count)),
            ])
        return report.failed.isEmpty ? 0 : 2
    }
}

struct FilesRotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Re-encrypts all files with another key or in another format.",
        usage:
            "roost files rotate [--old-key-file FILE] [--jobs N] [--dry-run] [--json] [roost.json] [--OPTION VALUE ...]",
        discussion: """
            Files get the configuration's encryptionKey and encryptionFormat. Skips files that have both. Run the same \
            command again to continue after an interruption. Until it is done, servers need the old key as \
            previousEncryptionKey to read the files.

            \(CommandRun.exitHelp), 2 done except for files that could not be read. See docs/files.md.
            """)

    @Option(help: "The file with the old key; default the option previousEncryptionKey.")
    var oldKeyFile: String?

    @Option(help: "The number of files to encrypt at a time.")
    var jobs = 4

    @Flag(help: "Only count the files that would be re-encrypted.")
    var dryRun = false

    @OptionGroup var common: ScriptArguments

    func validate() throws {
        guard (1...64).contains(jobs) else { throw ValidationError("--jobs must be between 1 and 64") }
    }

    func run() async throws {
        let (isDryRun, jobs, keyFile) = (dryRun, jobs, oldKeyFile)
        try await common.run { deployment, lines in
            let oldKey = try keyFile.map {
                try String(contentsOfFile: $0, encoding: .utf8).trimmingLineBreaks()
            }
            let report = try await StoreWork(deployment).rotate(oldKey: oldKey, jobs: jobs, isDryRun: isDryRun) {
                lines.step("files", $0.copied + $0.skipped, of: nil, unit: "files")
            }
            return FilesCopyCommand.end(report, lines, isDryRun ? "to encrypt" : "encrypted")
        }
    }
}
