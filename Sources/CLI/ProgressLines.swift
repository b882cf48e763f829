import Encoding
import JSON
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Shows how far a command is: one line that changes at a terminal, a line for each thing done elsewhere, JSON for
/// scripts.
final class ProgressLines: Sendable {
    private struct State {
        var shown = ContinuousClock.now - .seconds(1)
        var began: (name: String, time: ContinuousClock.Instant)?
        var isLineOpen = false
    }

    private let isForScripts: Bool
    private let isTerminal: Bool
    private let state = Mutex(State())

    init(isForScripts: Bool) {
        self.isForScripts = isForScripts
        isTerminal = isatty(STDERR_FILENO) == 1
    }

    /// Shows that something is under way; at a terminal only, ten times a second at most.
    func step(_ name: String, _ count: Int, of total: Int?, unit: String) {
        guard isTerminal, !isForScripts else { return }
        let text: String? = state.withLock { state in
            let now = ContinuousClock.now
            if state.began?.name != name { state.began = (name, now) }
            guard now - state.shown >= .milliseconds(100) else { return nil }
            state.shown = now
            state.isLineOpen = true
            let seconds = (now - (state.began?.time ?? now)) / .seconds(1)
            let rate = seconds > 0.5 ? Double(count) / seconds : nil
            return Self.line(name, count, of: total, unit: unit, rate: rate)
        }
        if let text { write("\r\u{1B}[K\(TerminalText.plain(text))") }
    }

    static func line(_ name: String, _ count: Int, of total: Int?, unit: String, rate: Double?) -> String {
        var text = "\(name)  \(count) \(unit)"
        // Statistics of the database may lag behind.
        if let total, total > 0, count <= total { text += "  \(count * 100 / total)%" }
        if let rate { text += "  \(Int(rate)) \(unit)/s" }
        if let rate, let total, total > count, rate > 0 { text += "  \(Int(Double(total - count) / rate)) s left" }
        return text
    }

    /// Shows that something is done.
    ///
    /// - Parameter event: What scripts get.
    func done(_ text: String, _ event: JSONObject) {
        if isForScripts { return Self.printLine(event) }
        let wasOpen = state.withLock { state in
            defer { state.isLineOpen = false }
            return state.isLineOpen
        }
        write((wasOpen ? "\r\u{1B}[K" : "") + TerminalText.plain(text) + "\n")
    }

    private func write(_ text: String) { try? OpenFile.standardError.write(text.utf8) }

    /// Prints one line of JSON to the standard output.
    static func printLine(_ event: JSONObject) {
        // A reader that went away, as `head` does, ends nothing.
        try? OpenFile.standardOutput.write(event.serialized() + Array("\n".utf8))
    }
}

enum TerminalText {
    /// A text with the names that clients chose in it: nothing of them moves the cursor, hides a line or reaches the
    /// clipboard.
    static func plain(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? "\u{FFFD}" : $0 }))
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar != "\n" && scalar.properties.generalCategory == .control
    }
}
