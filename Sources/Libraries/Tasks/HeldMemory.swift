import Synchronization

/// The memory that a request holds while others wait for theirs: values that were made of large rows, and parts of its answer.
///
/// A request waits once, before it holds anything; what it needs besides is counted and never waited for, so that no two
/// requests wait for each other. Nothing may be held in a ``MemoryBudget`` while a request waits: what is not known before it
/// was read is thrown away and read again (``reading(expecting:size:_:)``).
public final class HeldMemory: Sendable {
    /// What the request holds that the current task carries out; nil where nothing is counted.
    @TaskLocal public static var current: HeldMemory?

    /// How many bytes are not counted.
    public static let smallest = 64 * 1024

    private let gate: Gate
    private let sender: Sender
    /// Lets one part of the request wait at a time. The others follow without waiting.
    private let turn = Gate(capacity: 1)
    private let weight = Mutex(0)

    /// - Parameters:
    ///   - budget: Whose bytes it takes.
    ///   - depth: In how many calls of cloud code the request stands.
    public init(in budget: MemoryBudget, depth: Int) {
        gate = budget.gate(depth: depth)
        sender = .current
    }

    deinit { leave() }

    /// Runs a request, or a part of one, that may hold memory until it is over.
    ///
    /// - Throws: What `body` throws.
    public nonisolated(nonsending) static func run<R>(
        in budget: MemoryBudget, depth: Int, _ body: nonisolated(nonsending) () async throws -> R
    ) async rethrows -> R {
        let held = HeldMemory(in: budget, depth: depth)
        defer { held.leave() }
        return try await $current.withValue(held) { try await body() }
    }

    /// How many bytes it holds.
    package var used: Int { weight.withLock { $0 } }

    /// Makes sure that it holds so many bytes, and waits for them if it holds none.
    ///
    /// - Throws: `CancellationError` when the task was cancelled, or the caller left, before.
    public nonisolated(nonsending) func hold(_ bytes: Int) async throws {
        guard !holdNow(bytes) else { return }
        try await turn.run(of: .server) {
            guard !holdNow(bytes) else { return }
            try await gate.enter(weight: bytes, of: sender)
            weight.withLock { $0 += bytes }
        }
    }

    /// Counts that it holds so many bytes, for which it is too late to wait.
    public func count(_ bytes: Int) {
        weight.withLock { weight in
            guard bytes > weight else { return }
            gate.add(weight: bytes - weight, of: sender)
            weight = bytes
        }
    }

    /// Reserves bytes without waiting, or returns false.
    private func holdNow(_ bytes: Int) -> Bool {
        weight.withLock { weight in
            if weight == 0 {
                guard bytes == 0 || gate.tryEnter(weight: bytes, of: sender) else { return false }
            } else if bytes > weight {
                gate.add(weight: bytes - weight, of: sender)
            }
            weight = max(weight, bytes)
            return true
        }
    }

    /// Reads something whose size is known once it is read. Where there is no room for it, it is thrown away, and read again
    /// when there is.
    ///
    /// - Parameters:
    ///   - expected: How many bytes it took before: it waits for as much room before it reads, so that nothing is thrown away.
    ///   - size: Gives how many bytes it takes.
    ///   - read: Reads it, and changes nothing.
    /// - Throws: What `read` throws; `CancellationError` when the task was cancelled, or the caller left, before.
    public nonisolated(nonsending) func reading<Value>(
        expecting expected: Int = 0, size: (Value) -> Int, _ read: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        if expected >= Self.smallest { try await hold(expected) }
        let first = try await read()
        let bytes = size(first)
        if bytes < Self.smallest || holdNow(bytes) { return first }
        _ = consume first
        try await hold(bytes)
        let second = try await read()
        try await hold(size(second))
        return second
    }

    /// Reads something as ``reading(expecting:size:_:)`` does, in the memory of the request that the current task carries out.
    ///
    /// - Throws: What `read` throws; `CancellationError` when the task was cancelled, or the caller left, before.
    public nonisolated(nonsending) static func reading<Value>(
        expecting expected: Int = 0, size: (Value) -> Int, _ read: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        guard let current else { return try await read() }
        return try await current.reading(expecting: expected, size: size, read)
    }

    /// Gives all of it back.
    public func leave() {
        let before = weight.withLock { weight in
            defer { weight = 0 }
            return weight
        }
        guard before > 0 else { return }
        gate.leave(weight: before, of: sender)
        FreedMemory.note(before)
    }
}

/// The bytes that requests may hold at a time, all together; see ``HeldMemory``. What is more is held alone.
///
/// Requests that cloud code makes have a budget of their depth: they never wait for the request that waits for the code.
public struct MemoryBudget: Sendable {
    /// What values are made of, from where they are made for cloud code to where what the code answers is written: they take
    /// many times as much.
    public static let values = MemoryBudget(capacity: 8 * 1024 * 1024)
    /// The parts of answers that are put together.
    public static let answers = MemoryBudget(capacity: 32 * 1024 * 1024)

    /// Maximum nesting of cloud code calls.
    private static let depths = 17

    private let gates: [Gate]

    /// Makes a budget. One sender has three quarters of it.
    package init(capacity: Int) {
        gates = (0..<Self.depths).map { _ in Gate(capacity: capacity, share: capacity / 4 * 3) }
    }

    package func gate(depth: Int) -> Gate { gates[min(max(depth, 0), gates.count - 1)] }
}
