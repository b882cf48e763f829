import Foundation
import JSON
import ParseStorage

/// What `roost doctor` prints: a table for people, JSON for scripts. Pure.
enum DoctorText {
    /// The classes and the findings.
    static func of(_ report: Doctor.Report) -> String {
        var lines = [
            "PostgreSQL \(report.version / 10_000), \(bytes(report.size))", "",
            row("class", "rows", "size"),
        ]
        for size in report.classes {
            lines.append(row(size.name, (size.isEstimate ? "about " : "") + "\(size.rows)", bytes(size.bytes)))
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

    /// How many findings there are.
    static func summary(of report: Doctor.Report) -> String {
        func count(_ severity: Finding.Severity) -> Int { report.findings.count { $0.severity == severity } }
        let fixable = report.findings.count { $0.remedy != nil }
        return
            "\(count(.error)) errors, \(count(.warning)) warnings, \(count(.note)) notes; --fix can put \(fixable) right"
    }

    /// The same for scripts.
    static func json(of report: Doctor.Report) -> JSONObject {
        [
            "event": "report", "version": .number(Double(report.version)), "bytes": .number(Double(report.size)),
            "classes": .array(
                report.classes.map { size in
                    [
                        "name": .string(size.name), "rows": .number(Double(size.rows)),
                        "isEstimate": .bool(size.isEstimate), "bytes": .number(Double(size.bytes)),
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

    /// A size in the unit that suits it.
    static func bytes(_ count: Int) -> String {
        let units = ["B", "KB", "MB", "GB", "TB"]
        var value = Double(count)
        var unit = 0
        while value >= 1024, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        return unit == 0 ? "\(count) B" : String(format: value < 10 ? "%.1f" : "%.0f", value) + " " + units[unit]
    }
}
