import Encoding
import JSON
import Migration
import Platform
import Synchronization

/// Shows the progress of an import: a line per class, and a bar at a terminal or otherwise a line every 30 seconds.
/// Scripts get only the report, as JSON.
final class ImportLines: Sendable {
    private struct State {
        var printedClasses = 0
        var isLineOpen = false
        var step = ""
        var began = ContinuousClock.now
        var documentsBefore: Int64 = 0
        var lastPrinted = ContinuousClock.now
    }

    private let progress: ImportProgress
    private let isForScripts: Bool
    private let isTerminal: Bool
    private let state = Mutex(State())

    init(_ progress: ImportProgress, isForScripts: Bool) {
        self.progress = progress
        self.isForScripts = isForScripts
        isTerminal = isatty(STDERR_FILENO) == 1
    }

    /// Shows the progress until the task is cancelled.
    func follow() async {
        while !Task.isCancelled {
            show()
            try? await Task.sleep(for: .milliseconds(200))
        }
        show()
        let wasOpen = state.withLock { state in
            defer { state.isLineOpen = false }
            return state.isLineOpen
        }
        if wasOpen { write("\r\u{1B}[K") }
    }

    private func show() {
        let figures = progress.figures
        let now = ContinuousClock.now
        let text: String = state.withLock { state in
            var text = ""
            for line in figures.finished.dropFirst(state.printedClasses) where !isForScripts {
                text += (state.isLineOpen ? "\r\u{1B}[K" : "") + line + "\n"
                state.isLineOpen = false
            }
            state.printedClasses = figures.finished.count
            if state.step != figures.step {
                state.step = figures.step
                state.began = now
                state.documentsBefore = figures.documents
            }
            // Without a terminal, a line every 30 seconds shows that the import is still running.
            let isDue = isTerminal || now - state.lastPrinted > .seconds(30)
            guard !isForScripts, isDue else { return text }
            state.lastPrinted = now
            let line = Self.line(
                figures, documents: figures.documents - state.documentsBefore,
                seconds: (now - state.began) / .seconds(1))
            if isTerminal {
                text += "\r\u{1B}[K" + line
                state.isLineOpen = true
            } else {
                text += line + "\n"
            }
            return text
        }
        if !text.isEmpty { write(text) }
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
        if isForScripts {
            ProgressLines.printLine(report.json.merging(["event": "done"]) { $1 })
            return
        }
        var text = ""
        for note in report.notes { text += "note: \(note)\n" }
        for one in report.classes { if let failure = one.failure { text += "\(one.name): not imported: \(failure)\n" } }
        if report.isDryRun {
            for one in report.classes where one.failure == nil {
                text += "\(one.name): \(one.documents) objects, \(one.rows) rows, \(one.rejects) rejects\n"
            }
        }
        let rows = report.classes.reduce(0) { $0 + $1.rows }
        if report.wasDone {
            text += "nothing to do: this source was imported before\n"
        } else {
            text +=
                "\(report.isDryRun ? "would import" : "imported") \(rows) rows of \(report.classes.count) classes "
                + "and relations, \(report.files) files\n"
        }
        if let rejects = report.rejects { text += "Values not imported exactly are listed in \(rejects)\n" }
        write(text)
    }

    private func write(_ text: String) {
        try? OpenFile.standardError.write(TerminalText.plain(text).utf8)
    }
}
