import Subprocess

/// Runs programs without blocking a thread.
public enum Program {
    public struct Outcome: Sendable {
        /// The exit status, negative for a signal.
        public let status: Int32
        /// The combined output and error text.
        public let output: String
    }

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - command: The program's name and its arguments.
    ///   - environment: Variables added to those of the tests.
    /// - Throws: An error if the program doesn't exist.
    public static func run(
        _ command: [String], environment: [String: String] = [:], input: [UInt8] = []
    ) async throws -> Outcome {
        let result = try await Subprocess.run(
            .name("env"), arguments: Arguments(command), environment: variables(environment), input: .array(input),
            output: .string(limit: 16 * 1024 * 1024), error: .combinedWithOutput)
        switch result.terminationStatus {
        case .exited(let code): return Outcome(status: code, output: result.standardOutput)
        case .signaled(let signal): return Outcome(status: -signal, output: result.standardOutput)
        }
    }

    /// Runs a program while a closure runs, then terminates it.
    public static func run<R: Sendable>(
        _ command: [String], environment: [String: String] = [:],
        beside body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        try await withThrowingTaskGroup(of: R?.self) { tasks in
            tasks.addTask {
                _ = try await Subprocess.run(
                    .name("env"), arguments: Arguments(command), environment: variables(environment), input: .none,
                    output: .discarded, error: .discarded)
                return nil
            }
            tasks.addTask { try await body() }
            defer { tasks.cancelAll() }
            while let value = try await tasks.next() { if let value { return value } }
            throw CancellationError()
        }
    }

    private static func variables(_ others: [String: String]) -> Environment {
        var updates: [Environment.Key: String?] = [:]
        for (name, value) in others { updates[Environment.Key(stringLiteral: name)] = value }
        return .inherit.updating(updates)
    }
}
