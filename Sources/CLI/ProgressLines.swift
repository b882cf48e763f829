import Encoding
import JSON
import Platform
import Synchronization

/// Shows the progress of a command: a line for each completed step and, at a terminal, one changing line. Scripts get
/// JSON.
final class ProgressLines: Sendable {
    private struct State {
        var lastPrinted = ContinuousClock.now - .seconds(1)
        var began: (name: String, time: ContinuousClock.Instant)?
        var isLineOpen = false
    }

    let isForScripts: Bool
    let isTerminal: Bool
    private let state = Mutex(State())

    init(isForScripts: Bool) {
        self.isForScripts = isForScripts
        isTerminal = isatty(STDERR_FILENO) == 1
    }

    /// Shows the current step, only at a terminal and at most ten times per second.
    func step(_ name: String, _ count: Int, of total: Int?, unit: String) {
        guard isTerminal, !isForScripts else { return }
        let text: String? = state.withLock { state in
            let now = ContinuousClock.now
            if state.began?.name != name { state.began = (name, now) }
            guard now - state.lastPrinted >= .milliseconds(100) else { return nil }
            state.lastPrinted = now
            let seconds = (now - (state.began?.time ?? now)) / .seconds(1)
            let rate = seconds > 0.5 ? Double(count) / seconds : nil
            return Self.line(name, count, of: total, unit: unit, rate: rate)
        }
        if let text { change(text) }
    }

    /// Replaces the changing line.
    func change(_ text: String) {
        state.withLock { $0.isLineOpen = true }
        write("\r\u{1B}[K\(TerminalText.plain(text))")
    }

    func clear() {
        let wasOpen = state.withLock { state in
            defer { state.isLineOpen = false }
            return state.isLineOpen
        }
        if wasOpen { write("\r\u{1B}[K") }
    }

    /// Prints a line in place of the changing one.
    func add(_ text: String) {
        clear()
        write(TerminalText.plain(text) + "\n")
    }

    static func line(_ name: String, _ count: Int, of total: Int?, unit: String, rate: Double?) -> String {
        var text = "\(name)  \(count) \(unit)"
        // The total is PostgreSQL's estimate and may be too low.
        if let total, total > 0, count <= total { text += "  \(count * 100 / total)%" }
        if let rate { text += "  \(Int(rate)) \(unit)/s" }
        if let rate, let total, total > count, rate > 0 { text += "  \(Int(Double(total - count) / rate)) s left" }
        return text
    }

    /// Shows a completed step.
    ///
    /// - Parameter event: The line for scripts.
    func done(_ text: String, _ event: JSONObject) {
        if isForScripts { Self.printLine(event) } else { add(text) }
    }

    private func write(_ text: String) { try? OpenFile.standardError.write(text.utf8) }

    /// Prints one line of JSON to standard output.
    static func printLine(_ event: JSONObject) {
        // A closed pipe, for example after `head`, doesn't end the command.
        try? OpenFile.standardOutput.write(event.serialized() + Array("\n".utf8))
    }
}

enum TerminalText {
    /// Replaces control characters, so that clients' text can't move the cursor, hide lines or change the clipboard.
    static func plain(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? "\u{FFFD}" : $0 }))
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar != "\n" && scalar.properties.generalCategory == .control
    }
}
