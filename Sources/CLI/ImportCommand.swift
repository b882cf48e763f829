import App
import ArgumentParser
import JSON
import Migration
import NIOCore
import Platform

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Imports classes and files from another backend.",
        usage: """
            roost import (SOURCE | --from URL --from-app-id ID) [--dry-run] [--strict] [--merge] [--replace CLASS] [--classes A,B] \
            [--type CLASS.FIELD=TYPE] [--rejects FILE] [--jobs N] [--json] [roost.json] [--OPTION VALUE ...]
            """,
        discussion: """
            SOURCE is a folder or archive of mongodump, files of mongoexport, an export of Parse.com or Back4App (folder \
            or zip), or a folder of roost export. From a running MongoDB, take a mongodump first. --from fetches from a \
            running parse-server, through its REST interface and with its master key.

            Each class appears once it is complete. Values that can't be imported exactly are written to the rejects file. \
            Run the same command again to continue after an interruption. After a complete import it changes nothing.

            \(CommandRun.exitHelp), 2 done except for rejects and reported problems. See \
            docs/import.md.
            """)

    @Option(help: "The URL of a running parse-server to import instead of SOURCE, such as https://api.example/parse.")
    var from: String?

    @Option(help: "The application id of that server.")
    var fromAppId: String?

    @Option(
        help: "The master key of that server. Prefer the variable ROOST_FROM_MASTER_KEY, which other users can't see.")
    var fromMasterKey: String?

    @Option(help: "The maintenance key of that server, for password hashes. Prefer ROOST_FROM_MAINTENANCE_KEY.")
    var fromMaintenanceKey: String?

    @Flag(help: "Read everything and report the outcome, but write only the rejects file.")
    var dryRun = false

    @Flag(help: "Import no class that has an object that can't be imported exactly.")
    var strict = false

    @Flag(
        help: "Add objects to classes that already have objects. If two have the same id, keep the one changed last.")
    var merge = false

    @Option(help: "A class whose objects are replaced by the source's. Repeatable.")
    var replace: [String] = []

    @Option(help: "The classes to import, separated by commas; default all.")
    var classes: String?

    @Option(help: "A field's type, if the source doesn't define it: Game.score=Number, Game.owner='Pointer<_User>'.")
    var type: [String] = []

    @Option(help: "The rejects file, one line of JSON per reject.")
    var rejects = "roost-rejects.jsonl"

    @Option(help: "The number of classes to load at the same time; default the number of processors.")
    var jobs: Int?

    @OptionGroup var common: ScriptArguments

    func run() async throws {
        let (source, rest) = try source()
        let wanted = try options()
        try await common.run(rest) { try await Self.importData(source, wanted, $0, $1) }
    }

    private func source() throws -> (DataImport.Source, rest: [String]) {
        guard let from else {
            if let first = common.arguments.first, ["mongodb://", "mongodb+srv://"].contains(where: first.hasPrefix) {
                throw CommandRun.mistake(
                    "MongoDB is imported from a dump. Run mongodump, and pass its folder or archive", of: Self.self)
            }
            let (path, rest) = try CommandRun.target(common.arguments, called: "source to import", of: Self.self)
            return (.path(path), rest)
        }
        let environment = ProcessInfo.processInfo.environment
        guard let id = fromAppId, let master = fromMasterKey ?? environment["ROOST_FROM_MASTER_KEY"] else {
            throw CommandRun.mistake(
                "--from requires --from-app-id, and the master key in ROOST_FROM_MASTER_KEY", of: Self.self)
        }
        guard from.hasPrefix("http://") || from.hasPrefix("https://") else {
            throw CommandRun.mistake("--from: \(from) is not a URL", of: Self.self)
        }
        let address = LiveServer.Address(
            url: from, applicationID: id, masterKey: master,
            maintenanceKey: fromMaintenanceKey ?? environment["ROOST_FROM_MAINTENANCE_KEY"])
        return (.server(address), common.arguments)
    }

    private func options() throws -> ImportOptions {
        var options = ImportOptions()
        options.isDryRun = dryRun
        options.isStrict = strict
        options.merges = merge
        options.replaces = Set(replace.flatMap { $0.parts(between: ",") }.names)
        options.classes = classes.map { Set($0.parts(between: ",").names) }
        options.rejects = rejects
        if let jobs {
            guard (1...64).contains(jobs) else {
                throw CommandRun.mistake("--jobs must be between 1 and 64", of: Self.self)
            }
            options.jobs = jobs
        } else {
            options.jobs = max(1, System.coreCount)
        }
        for text in type {
            guard let (className, field, type) = ImportOptions.type(text) else {
                throw CommandRun.mistake(
                    "--type must be CLASS.FIELD=TYPE with a Parse type, not \(text)", of: Self.self)
            }
            options.types[className, default: [:]][field] = type
        }
        return options
    }

    private static func importData(
        _ source: DataImport.Source, _ options: ImportOptions, _ deployment: Deployment, _ lines: ProgressLines
    ) async throws -> Int32 {
        let progress = ImportProgress()
        let lines = ImportLines(progress: progress, lines: lines)
        let display = Task { await lines.follow() }
        defer { display.cancel() }
        let report = try await DataImport(deployment, from: source, options, progress: progress).run()
        display.cancel()
        await display.value
        lines.finish(report)
        return report.exitCode
    }
}
