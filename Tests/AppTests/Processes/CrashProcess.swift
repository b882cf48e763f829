import Foundation
import Subprocess
import Synchronization

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// A running program that can receive signals.
final class CrashProcess: Sendable {
    enum End: Equatable {
        case exit(status: Int32)
        case signal(Int32)
    }

    let identifier: pid_t
    private let outcome = Mutex<End?>(nil)

    /// How the program ended, or nil while it runs.
    var end: End? { outcome.withLock { $0 } }

    var isRunning: Bool { end == nil }

    private init(identifier: pid_t) { self.identifier = identifier }

    private func finish(_ status: TerminationStatus) {
        outcome.withLock { outcome in
            switch status {
            case .exited(let code): outcome = .exit(status: code)
            case .signaled(let signal): outcome = .signal(signal)
            }
        }
    }

    /// Starts a program whose output is appended to a file.
    ///
    /// - Parameter command: The path of the program, and its arguments.
    static func start(_ command: [String], output: String) async throws -> CrashProcess {
        let file = try FileDescriptor.open(
            output, .writeOnly, options: [.create, .append], permissions: .ownerReadWrite)
        let (children, started) = AsyncThrowingStream<CrashProcess, any Error>.makeStream()
        Task {
            do {
                let result = try await Subprocess.run(
                    .path(FilePath(command[0])), arguments: Arguments(Array(command.dropFirst())), input: .none,
                    output: .fileDescriptor(file, closeAfterSpawningProcess: true), error: .combinedWithOutput
                ) { execution in
                    let child = CrashProcess(identifier: execution.processIdentifier.value)
                    started.yield(child)
                    return child
                }
                result.closureResult.finish(result.terminationStatus)
            } catch {
                started.finish(throwing: error)
            }
        }
        for try await child in children { return child }
        throw CancellationError()
    }
}
