import Foundation

@testable import LocalPostgres

/// A program that was started and can be sent signals.
struct CrashProcess {
    /// How a program ended.
    enum End: Equatable {
        case exit(status: Int32)
        case signal(Int32)
    }

    let identifier: pid_t
    private(set) var end: End?

    /// Starts a program whose output is appended to a file.
    init(_ command: [String], output: String) throws {
        identifier = try ChildProcess.start(command, output: output)
    }

    /// Whether the program is still there; finds out how it ended.
    mutating func isRunning() -> Bool {
        guard end == nil else { return false }
        var status: Int32 = 0
        guard waitpid(identifier, &status, WNOHANG) == identifier else { return true }
        let signal = status & 0x7F
        end = signal == 0 ? .exit(status: (status >> 8) & 0xFF) : .signal(signal)
        return false
    }
}
