import App
import ArgumentParser
import Foundation
import JSON
import Migration
import NIOCore

/// `roost import`: everything that another backend has, into a database.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Brings the classes and files of another backend into the database.",
        usage: """
            roost import (SOURCE | --from URL --from-app-id ID) [--dry-run] [--strict] [--merge] [--replace CLASS] [--classes A,B] \
            [--type CLASS.FIELD=TYPE] [--rejects FILE] [--jobs N] [--json] [roost.json] [--OPTION VALUE ...]
            """,
        discussion: """
            SOURCE is a folder or an archive of mongodump, files of mongoexport, an export of Parse.com or Back4App \
            (folder or zip), or a folder of roost export. From a MongoDB that runs, take a mongodump first. --from fetches \
            from a parse-server that runs, by its REST interface and with its master key.

            Each class appears when all of it is there. What cannot be kept exactly stands in the file of rejects. The \
            same command goes on where it was interrupted, and changes nothing once it is done.

            \(CommandRun.exitHelp), 2 done but for what stands in the file of rejects or was reported. See \
            docs/import-export.md.
            """)

    @Option(help: "The URL of a parse-server that runs, instead of SOURCE: https://api.example/parse.")
    var from: String?

    @Option(help: "The application id of that server.")
    var fromAppId: String?

    @Option(
        help: "Its master key; better given as ROOST_FROM_MASTER_KEY, where other users of the machine do not see it.")
    var fromMasterKey: String?

    @Option(help: "Its maintenance key, for the hashes of passwords; better given as ROOST_FROM_MAINTENANCE_KEY.")
    var fromMaintenanceKey: String?

    @Flag(help: "Read everything and tell what would become of it; write nothing but the file of rejects.")
    var dryRun = false

    @Flag(help: "Stop at the first object that cannot be kept exactly.")
    var strict = false

    @Flag(
        help: "Bring objects beside those that a class has; of two with one id, the one that was changed last counts.")
    var merge = false

    @Option(help: "A class whose objects give way to those of the source. Can be given several times.")
    var replace: [String] = []

    @Option(help: "The classes to import, with commas between them; all when it is missing.")
    var classes: String?

    @Option(help: "The type of a field that the source leaves open: Game.score=Number, Game.owner='Pointer<_User>'.")
    var type: [String] = []

    @Option(help: "Where to write what cannot be kept exactly, a line of JSON each.")
    var rejects = "roost-rejects.jsonl"

    @Option(help: "How many classes are loaded at the same time; as many as processors when it is missing.")
    var jobs: Int?

    @OptionGroup var common: ScriptArguments

    func run() async throws {
        let (source, rest) = try source()
        let (isForScripts, wanted) = (common.json, try options())
        try await CommandRun.run(isForScripts: isForScripts) {
            let deployment = try CommandRun.deployment(rest)
            return try await Self.bring(source, wanted, deployment, isForScripts)
        }
    }

    private func source() throws -> (DataImport.Source, rest: [String]) {
        guard let from else {
            let (path, rest) = try CommandRun.target(common.arguments, called: "source to import")
            return (.path(path), rest)
        }
        let environment = ProcessInfo.processInfo.environment
        guard let id = fromAppId, let master = fromMasterKey ?? environment["ROOST_FROM_MASTER_KEY"] else {
            throw ValidationError("--from needs --from-app-id, and the master key as ROOST_FROM_MASTER_KEY")
        }
        guard from.hasPrefix("http://") || from.hasPrefix("https://") else {
            throw ValidationError("--from: \(from) is not a URL")
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
            guard (1...64).contains(jobs) else { throw ValidationError("--jobs: a number from 1 to 64") }
            options.jobs = jobs
        } else {
            options.jobs = max(1, System.coreCount)
        }
        for text in type {
            guard let (className, field, type) = ImportOptions.type(text) else {
                throw ValidationError("--type: \(text) is not CLASS.FIELD=TYPE with a type that Parse has")
            }
            options.types[className, default: [:]][field] = type
        }
        return options
    }

    private static func bring(
        _ source: DataImport.Source, _ options: ImportOptions, _ deployment: Deployment, _ isForScripts: Bool
    ) async throws -> Int32 {
        let progress = ImportProgress()
        let lines = ImportLines(progress, isForScripts: isForScripts)
        let display = Task { await lines.follow() }
        defer { display.cancel() }
        let report = try await DataImport(
            deployment, from: source, options, progress: progress, logger: LogOutput.quiet
        ).run()
        display.cancel()
        await display.value
        lines.finish(report)
        return report.exitCode
    }
}
