import App
import ArgumentParser
import Doctor
import JSON
import Platform

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks a database for problems.",
        usage: "roost doctor [--fix [--yes]] [--rows N] [--files] [--json] [roost.json] [--OPTION VALUE ...]",
        discussion: """
            Changes nothing without --fix, which offers a fix for each problem that it can solve without losing data, \
            and applies those that you confirm.

            \(CommandRun.exitHelp), 2 found errors or warnings, or couldn't list a file store. \
            See docs/maintenance.md.
            """)

    @Flag(help: "Offer fixes, and apply those that are confirmed.")
    var fix = false

    @Flag(help: "With --fix: apply all fixes without asking.")
    var yes = false

    @Option(help: "The maximum number of rows to read from a table for one check.")
    var rows = 100_000

    @Flag(help: "Also count the files in each store, which lists whole buckets.")
    var files = false

    @OptionGroup var common: ScriptArguments

    func validate() throws {
        guard rows > 0 else { throw ValidationError("--rows must be more than 0") }
        if yes, !fix { throw ValidationError("--yes requires --fix") }
        if fix, !yes, common.json || isatty(STDIN_FILENO) != 1 {
            throw ValidationError(
                "--fix needs a terminal and can't be combined with --json. Add --yes to apply all fixes")
        }
    }

    func run() async throws {
        let (isForScripts, fixes, asks, rows, counts) = (common.json, fix, !yes, rows, files)
        try await common.run { deployment, _ in
            let stores = counts ? try await StoreWork(deployment).sizes() : []
            return try await DatabaseAccess(deployment).withClient { client in
                let doctor = Doctor(client: client, rows: rows)
                var report = try await doctor.examine()
                if !isForScripts { print(TerminalText.plain(DoctorText.of(report, stores)), terminator: "") }
                if fixes {
                    try await Self.fix(report.findings, doctor, asks: asks, isForScripts: isForScripts)
                    report = try await doctor.examine()
                    if !isForScripts { print("\n" + DoctorText.summary(of: report)) }
                }
                if isForScripts { ProgressLines.printLine(DoctorText.json(of: report, stores)) }
                return report.findings.contains { $0.severity > .note } || stores.contains { $0.failure != nil } ? 2 : 0
            }
        }
    }

    private static func fix(_ findings: [Finding], _ doctor: Doctor, asks: Bool, isForScripts: Bool) async throws {
        for finding in findings {
            try Task.checkCancellation()
            guard let remedy = finding.remedy else { continue }
            if asks {
                print(
                    TerminalText.plain(
                        "\n\(finding.subject): \(finding.words)\n\(remedy.statements.joined(separator: ";\n"))"))
                print(TerminalText.plain("\(remedy.words)? [y/N] "), terminator: "")
                fflush(nil)
                guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else { continue }
            }
            do {
                try await doctor.apply(remedy)
                report("fixed", finding, remedy, nil, isForScripts)
            } catch {
                report("not-fixed", finding, remedy, ErrorText.of(error), isForScripts)
            }
        }
    }

    private static func report(
        _ event: String, _ finding: Finding, _ remedy: Finding.Remedy, _ reason: String?, _ isForScripts: Bool
    ) {
        guard isForScripts else {
            return print(
                TerminalText.plain(
                    "\(event.replacing("-", with: " ")): \(remedy.words)\(reason.map { ": \($0)" } ?? "")"))
        }
        var line: JSONObject = [
            "event": .string(event), "kind": .string(finding.kind.rawValue), "subject": .string(finding.subject),
            "done": .string(remedy.words),
        ]
        if let reason { line["reason"] = .string(reason) }
        ProgressLines.printLine(line)
    }
}

/// The output of `roost doctor`: a table for people, JSON for scripts.
enum DoctorText {
    /// Formats the classes, the file stores and the findings as a table.
    static func of(_ report: Doctor.Report, _ stores: [StoreWork.StoreSize] = []) -> String {
        var lines = [
            "PostgreSQL \(report.version / 10_000), \(bytes(report.size))", "",
            row("class", "rows", "size"),
        ]
        for size in report.classes {
            lines.append(row(size.name, (size.isEstimate ? "about " : "") + "\(size.rows)", bytes(size.bytes)))
        }
        if !stores.isEmpty { lines += ["", row("file store", "files", "size")] }
        for store in stores {
            lines.append(
                store.failure.map { "\(store.name): \($0)" }
                    ?? row(store.name, "\(store.files)", bytes(Int(store.bytes))))
        }
        lines.append("")
        for finding in report.findings {
            lines.append("\(pad(finding.severity.rawValue, 8))\(finding.kind.rawValue)  \(finding.subject)")
            lines.append("        \(finding.words)")
            if !finding.examples.isEmpty { lines.append("        \(finding.examples.joined(separator: ", "))") }
            for statement in finding.remedy?.statements ?? [] { lines.append("        --fix: \(statement)") }
            if let advice = finding.advice { lines.append("        to consider: \(advice)") }
        }
        if !report.findings.isEmpty { lines.append("") }
        return lines.joined(separator: "\n") + "\n" + summary(of: report) + "\n"
    }

    /// Returns the number of findings by severity, in one line.
    static func summary(of report: Doctor.Report) -> String {
        func count(_ severity: Finding.Severity) -> Int { report.findings.count { $0.severity == severity } }
        let fixable = report.findings.count { $0.remedy != nil }
        return
            "\(count(.error)) errors, \(count(.warning)) warnings, \(count(.note)) notes; --fix can fix \(fixable)"
    }

    static func json(of report: Doctor.Report, _ stores: [StoreWork.StoreSize] = []) -> JSONObject {
        [
            "event": "report", "version": .number(Double(report.version)), "bytes": .number(Double(report.size)),
            "classes": .array(
                report.classes.map { size in
                    [
                        "name": .string(size.name), "rows": .number(Double(size.rows)),
                        "isEstimate": .bool(size.isEstimate), "bytes": .number(Double(size.bytes)),
                    ]
                }),
            "stores": .array(
                stores.map { store in
                    [
                        "name": .string(store.name), "files": .number(Double(store.files)),
                        "bytes": .number(Double(store.bytes)), "failure": store.failure.map { .string($0) } ?? .null,
                    ]
                }),
            "findings": .array(
                report.findings.map { finding in
                    var object: JSONObject = [
                        "kind": .string(finding.kind.rawValue), "severity": .string(finding.severity.rawValue),
                        "subject": .string(finding.subject), "words": .string(finding.words),
                    ]
                    if !finding.examples.isEmpty { object["examples"] = .array(finding.examples.map { .string($0) }) }
                    if let remedy = finding.remedy {
                        object["fix"] = .array(remedy.statements.map { .string($0) })
                    }
                    if let advice = finding.advice { object["advice"] = .string(advice) }
                    return .object(object)
                }),
        ]
    }

    private static func row(_ name: String, _ rows: String, _ size: String) -> String {
        pad(name, 32) + " " + String(repeating: " ", count: max(0, 16 - rows.count)) + rows
            + String(repeating: " ", count: max(1, 12 - size.count)) + size
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    /// Formats a number of bytes in a suitable unit.
    static func bytes(_ count: Int) -> String {
        let units = ["B", "KB", "MB", "GB", "TB"]
        var value = Double(count)
        var unit = 0
        while value >= 1024, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        if unit == 0 { return "\(count) B" }
        let text =
            value < 10 ? "\((value * 10).rounded(.toNearestOrEven) / 10)" : "\(Int(value.rounded(.toNearestOrEven)))"
        return "\(text) \(units[unit])"
    }
}
