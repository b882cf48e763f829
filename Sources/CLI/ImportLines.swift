import JSON
import Migration

/// Shows the progress of an import: a line per class, and a bar at a terminal or otherwise a line every 30 seconds.
/// Scripts get only the report, as JSON.
struct ImportLines {
    private struct State {
        var printedClasses = 0
        var step = ""
        var began = ContinuousClock.now
        var documentsBefore: Int64 = 0
        var lastPrinted = ContinuousClock.now
    }

    let progress: ImportProgress
    let lines: ProgressLines

    /// Shows the progress until the task is cancelled.
    func follow() async {
        guard !lines.isForScripts else { return }
        var state = State()
        while !Task.isCancelled {
            show(&state)
            try? await Task.sleep(for: .milliseconds(200))
        }
        show(&state)
        lines.clear()
    }

    private func show(_ state: inout State) {
        let figures = progress.figures
        let now = ContinuousClock.now
        for line in figures.finished.dropFirst(state.printedClasses) { lines.add(line) }
        state.printedClasses = figures.finished.count
        if state.step != figures.step {
            (state.step, state.began, state.documentsBefore) = (figures.step, now, figures.documents)
        }
        // Without a terminal, a line every 30 seconds shows that the import is still running.
        guard lines.isTerminal || now - state.lastPrinted > .seconds(30) else { return }
        state.lastPrinted = now
        let line = Self.line(
            figures, documents: figures.documents - state.documentsBefore, seconds: (now - state.began) / .seconds(1))
        if lines.isTerminal { lines.change(line) } else { lines.add(line) }
    }

    /// Returns one line with a bar, the percentage, the rows per second and the remaining time.
    static func line(_ figures: ImportProgress.Figures, documents: Int64, seconds: Double) -> String {
        var line = figures.step
        if figures.totalBytes > 0 {
            let share = min(1, Double(figures.bytes) / Double(figures.totalBytes))
            let filled = Int(share * 20)
            line +=
                "  [" + String(repeating: "#", count: filled) + String(repeating: "-", count: 20 - filled)
                + "] \(Int(share * 100))%"
            if documents > 0 { line += "  \(documents) rows" }
            if seconds > 0.5, documents > 0 { line += "  \(Int(Double(documents) / seconds)) rows/s" }
            if seconds > 2, share > 0.01, share < 1 { line += "  \(Int(seconds / share * (1 - share))) s left" }
        }
        return line
    }

    func finish(_ report: ImportReport) {
        guard !lines.isForScripts else {
            return ProgressLines.printLine(report.json.merging(["event": "done"]) { $1 })
        }
        for note in report.notes { lines.add("note: \(note)") }
        for one in report.classes {
            if let failure = one.failure { lines.add("\(one.name): not imported: \(failure)") }
        }
        if report.isDryRun {
            for one in report.classes where one.failure == nil {
                lines.add("\(one.name): \(one.documents) objects, \(one.rows) rows, \(one.rejects) rejects")
            }
        }
        let rows = report.classes.reduce(0) { $0 + $1.rows }
        lines.add(
            report.wasDone
                ? "nothing to do: this source was imported before"
                : "\(report.isDryRun ? "would import" : "imported") \(rows) rows of \(report.classes.count) classes and "
                    + "relations, \(report.files) files")
        if let rejects = report.rejects { lines.add("Values not imported exactly are listed in \(rejects)") }
    }
}
