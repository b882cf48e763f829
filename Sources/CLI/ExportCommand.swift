import App
import ArgumentParser
import JSON
import Migration
import ParseModel

struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes the classes and files of an application into a folder.",
        usage: """
            roost export FOLDER [--classes A,B] [--since DATE] [--format parse|mongo] [--no-files] [--json] \
            [roost.json] [--OPTION VALUE ...]
            """,
        discussion: """
            The folder must be empty or missing. It appears once the export is complete: a consistent snapshot of the \
            database, and the uploaded files, decrypted. The server may keep running. The export contains password hashes \
            and session tokens, so only its owner can read it.

            \(CommandRun.exitHelp), 2 done except for files that could not be decrypted. See docs/export.md.
            """)

    @Option(help: "The classes to export, separated by commas; default all.")
    var classes: String?

    @Option(help: "Only objects changed at or after this time: 2024-01-31 or 2024-01-31T12:00:00.000Z.")
    var since: String?

    @Option(help: "The file format: \(DatabaseExport.Form.allCases.map(\.rawValue).joined(separator: ", ")).")
    var format = DatabaseExport.Form.parse

    @Flag(name: .customLong("no-files"), help: "Leave out the uploaded files.")
    var leavesOutFiles = false

    @OptionGroup var common: ScriptArguments

    func run() async throws {
        let (folder, rest) = try CommandRun.target(common.arguments, called: "folder to write", of: Self.self)
        var request = Export.Request(folder: folder)
        request.form = format
        request.withFiles = !leavesOutFiles
        request.classes = classes.map { $0.split(separator: ",").map(String.init) }
        if let since {
            guard let date = ParseDate(iso: since) else {
                throw CommandRun.mistake("--since: \(since) is not a date", of: Self.self)
            }
            request.since = date
        }
        try await common.run(rest) { [request] in try await Self.export(request, $0, $1) }
    }

    private static func export(
        _ request: Export.Request, _ deployment: Deployment, _ lines: ProgressLines
    ) async throws -> Int32 {
        let report = try await Export(deployment, request) { progress in
            switch progress {
            case .rows(let table, let count, let total): lines.step(table, count, of: total, unit: "rows")
            case .files(let count): lines.step("files", count, of: nil, unit: "files")
            case .table(let name, let count):
                lines.done(
                    "\(name)  \(count) rows",
                    ["event": "class", "name": .string(name), "rows": .number(Double(count))])
            }
        }.run()
        for name in report.unreadable {
            lines.done("file \(name): can't be decrypted", ["event": "unreadable", "file": .string(name)])
        }
        let rows = report.rows.reduce(0) { $0 + $1.count }
        lines.done(
            "exported \(rows) rows and \(report.files.count) files as of \(report.time.iso) to \(request.folder)",
            [
                "event": "done", "folder": .string(request.folder), "rows": .number(Double(rows)),
                "files": .number(Double(report.files.count)), "time": .string(report.time.iso),
            ])
        return report.unreadable.isEmpty ? 0 : 2
    }
}

extension DatabaseExport.Form: ExpressibleByArgument {}
