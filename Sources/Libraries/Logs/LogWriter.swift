import Dispatch
import Encoding
import Limits
import Logging
import ParseModel
import Platform
import Synchronization

/// Writes log lines to standard error on a separate thread.
///
/// Logging only appends to a list, so a full disk or slow reader doesn't block callers. If the list is full, lines are
/// dropped and counted.
package final class LogWriter: Sendable {
    private struct State {
        var lines: [LogLine] = []
        /// The time of the last line.
        var last = ParseDate(milliseconds: 0)
        var dropped = 0
        /// Whether the thread was notified of new lines.
        var isSignalled = false
        /// The number of lines being written.
        var underWay = 0
    }

    /// The number of lines dropped since the process started.
    package static var droppedLines: Int { dropped.load(ordering: .relaxed) }
    private static let dropped = Atomic(0)

    private static let capacity = 8192
    /// A line that is late by less than this number of milliseconds gets the previous line's time.
    private static let latest: Int64 = 1000
    /// Microseconds during which lines are collected and then written together.
    private static let pause: UInt32 = 10_000

    private let state = Mutex(State())
    private let signal = DispatchSemaphore(value: 0)
    private let format: LogLine.Format
    private let isSilent: Bool

    /// Creates a writer and starts its thread.
    ///
    /// - Parameter isSilent: Whether to write nothing to standard error.
    package init(format: LogLine.Format, isSilent: Bool = false) {
        self.format = format
        self.isSilent = isSilent
        OSThread { [self] in run() }.detach()
    }

    /// Appends a line. If the logging thread was delayed, the line gets the time of the previous one, so that times
    /// don't decrease. Larger steps back are kept, because the clock was set back.
    package func add(_ line: LogLine) {
        let mustSignal = state.withLock { state in
            guard state.lines.count < Self.capacity else {
                state.dropped += 1
                Self.dropped.wrappingAdd(1, ordering: .relaxed)
                return false
            }
            var line = line
            let isLate = line.moment < state.last && state.last.milliseconds - line.moment.milliseconds < Self.latest
            if isLate { line.moment = state.last }
            state.last = line.moment
            state.lines.append(line)
            defer { state.isSignalled = true }
            return !state.isSignalled
        }
        if mustSignal { signal.signal() }
    }

    /// Waits up to one second until all lines are written.
    package func flush() {
        for _ in 0..<200 {
            if state.withLock({ $0.lines.isEmpty && $0.underWay == 0 }) { return }
            usleep(5000)
        }
    }

    private func run() {
        var output: [UInt8] = []
        while true {
            signal.wait()
            usleep(Self.pause)
            let (lines, dropped) = state.withLock { state in
                let pending = (state.lines, state.dropped)
                state.underWay = state.lines.count
                state.lines = []
                state.dropped = 0
                state.isSignalled = false
                return pending
            }
            output.removeAll(keepingCapacity: output.capacity <= 1024 * 1024)
            for line in lines where !isSilent { line.write(as: format, to: &output) }
            if dropped > 0, !isSilent {
                LogLine(
                    moment: .now, level: .warning, label: "roost", message: "log lines were dropped",
                    metadata: ["count": "\(dropped)"]
                ).write(as: format, to: &output)
            }
            if !output.isEmpty { try? OpenFile.standardError.write(output) }
            state.withLock { $0.underWay = 0 }
        }
    }
}
