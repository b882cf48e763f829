import Synchronization

/// The memory that a request holds for values of large rows and parts of its response.
///
/// A request only waits for memory while it holds none. Additional memory is counted without waiting, so that requests
/// don't wait for each other. Data whose size is only known after reading is discarded if there is no room, and read
/// again later (``reading(expecting:size:_:)``).
public final class HeldMemory: Sendable {
    /// The memory held by the current task's request, or nil if it isn't counted.
    @TaskLocal public static var current: HeldMemory?

    /// Sizes below this number of bytes aren't counted.
    public static let smallest = 64 * 1024

    private let gate: Gate
    private let sender: Sender
    /// The gate that serializes waiting within the request. Once one part holds memory, the others don't wait.
    private let turn = Gate(capacity: 1)
    private let weight = Mutex(0)

    /// - Parameters:
    ///   - budget: The budget to take memory from.
    ///   - depth: The number of cloud-code calls that the request is nested in.
    public init(in budget: MemoryBudget, depth: Int) {
        gate = budget.gate(depth: depth)
        sender = .current
    }

    deinit { leave() }

    /// Runs a request, or a part of it, and releases its memory afterward.
    ///
    /// - Throws: The errors of `body`.
    public nonisolated(nonsending) static func run<R>(
        in budget: MemoryBudget, depth: Int, _ body: nonisolated(nonsending) () async throws -> R
    ) async rethrows -> R {
        let held = HeldMemory(in: budget, depth: depth)
        defer { held.leave() }
        return try await $current.withValue(held) { try await body() }
    }

    /// The number of bytes held.
    package var used: Int { weight.withLock { $0 } }

    /// Ensures that the request holds a number of bytes. Waits for them only if it holds none.
    ///
    /// - Throws: `CancellationError` if the task is cancelled or the caller disconnects while waiting.
    public nonisolated(nonsending) func hold(_ bytes: Int) async throws {
        guard !holdNow(bytes) else { return }
        try await turn.run(of: .server) {
            guard !holdNow(bytes) else { return }
            try await gate.enter(weight: bytes, of: sender)
            weight.withLock { $0 += bytes }
        }
    }

    /// Ensures that the request holds a number of bytes, without waiting.
    public func count(_ bytes: Int) {
        weight.withLock { weight in
            guard bytes > weight else { return }
            gate.add(weight: bytes - weight, of: sender)
            weight = bytes
        }
    }

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

    /// Reads data whose size is only known afterward. If there is no room for it, discards it, waits, and reads it
    /// again.
    ///
    /// - Parameters:
    ///   - expected: The expected size in bytes, for example the previous one. Waiting for it first avoids discarding
    ///     data.
    ///   - size: Returns the size of the data in bytes.
    ///   - read: Reads the data. Must have no side effects.
    /// - Throws: The errors of `read`, or `CancellationError` if the task is cancelled or the caller disconnects while
    ///   waiting.
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

    /// Reads data like ``reading(expecting:size:_:)``, for the current task's request. Requests whose memory isn't
    /// counted never wait.
    ///
    /// - Throws: The errors of `read`, or `CancellationError` if the task is cancelled or the caller disconnects while
    ///   waiting.
    public nonisolated(nonsending) static func reading<Value>(
        expecting expected: Int = 0, size: (Value) -> Int, _ read: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        guard let current else { return try await read() }
        return try await current.reading(expecting: expected, size: size, read)
    }

    /// Releases all memory.
    public func leave() {
        let before = weight.withLock { weight in
            defer { weight = 0 }
            return weight
        }
        guard before > 0 else { return }
        gate.leave(weight: before, of: sender)
        FreedMemory.record(before)
    }
}

/// Limits the memory that all requests hold together; see ``HeldMemory``. A request that exceeds it runs alone.
///
/// Each nesting depth of cloud code has its own budget, so that requests made by cloud code never wait for the request
/// that waits for the code.
public struct MemoryBudget: Sendable {
    /// The budget for data that is parsed into values, including values passed to cloud code. The values take up
    /// many times as much memory as the data.
    public static let values = MemoryBudget(capacity: 8 * 1024 * 1024)
    /// The budget for parts of responses that are being assembled.
    public static let answers = MemoryBudget(capacity: 32 * 1024 * 1024)

    /// The maximum nesting depth of cloud-code calls, plus one for client requests.
    private static let depths = 17

    private let gates: [Gate]

    /// Creates a budget. One sender can use three quarters of it.
    package init(capacity: Int) {
        gates = (0..<Self.depths).map { _ in Gate(capacity: capacity, share: capacity / 4 * 3) }
    }

    package func gate(depth: Int) -> Gate { gates[min(max(depth, 0), gates.count - 1)] }
}
