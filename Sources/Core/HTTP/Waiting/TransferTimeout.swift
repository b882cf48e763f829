import Limits
import NIOCore
import Synchronization
import Telemetry

/// Watches transfers: request bodies and other input that arrive, and responses that leave.
///
/// It closes connections whose transfers make no progress, because the client sends a body byte by byte or doesn't read
/// its response. It also counts the memory that transfers hold. If memory is full, slow transfers are closed, and
/// requests that still get no memory are rejected. Large bodies and files reserve memory and wait for it, round robin
/// by sender, while the server reads nothing more of them.
///
/// Functions that begin or end a transfer are never inlined: in an async function that does both, Swift 6.3 caches the
/// id of the first thread, and a lock taken on another thread would then be taken in the wrong thread's name.
package final class TransferTimeout: Sendable {
    package enum Kind {
        /// A request body.
        case body
        /// Received input that no request has consumed yet, or the large head of a request in progress.
        case input
        /// An incomplete WebSocket message.
        case message
        /// A response that stays in memory until the client has read it.
        case answer
        /// A response that is generated while it is sent, such as a file. One piece at a time waits for the client.
        case file
    }

    package struct Ticket: Sendable {
        fileprivate var number: UInt64
        let kind: Kind
    }

    private let state = Mutex(TransferState())
    private let limits: HTTPServer.Limits
    private let meters: RequestMeters?

    /// The pace in bytes per second at which a transfer may go on indefinitely.
    private static let usualPace = 64 * 1024

    package init(limits: HTTPServer.Limits, meters: RequestMeters? = nil) {
        self.limits = limits
        self.meters = meters
    }

    /// The bytes that all transfers hold in memory.
    package var heldBytes: Int { state.withLock { $0.held } }

    package var waiting: Int { state.withLock { $0.waiting } }

    /// The maximum time that a client may read nothing.
    var stall: Duration { limits.stall }

    /// Starts to watch a transfer.
    ///
    /// - Parameter bytes: The number of bytes that are sent at once, without reports of their progress.
    @inline(never)
    package func begin(_ kind: Kind, on channel: any Channel, bytes: Int = 0, of network: Sender = .current) -> Ticket {
        let now = ContinuousClock.now
        let stallThreshold = stallThreshold(of: kind) + .seconds(bytes / Self.usualPace)
        return state.withLock { state in
            state.lastNumber += 1
            var transfer = TransferState.Transfer(
                channel: channel, network: network, begin: now, kind: kind, stallThreshold: stallThreshold,
                deadline: now + stallThreshold)
            if state.isEnding, kind == .body { transfer.shorten(to: limits.grace) }
            state.transfers[state.lastNumber] = transfer
            return Ticket(number: state.lastNumber, kind: kind)
        }
    }

    private func stallThreshold(of kind: Kind) -> Duration {
        switch kind {
        case .body: limits.idle
        case .answer, .file: limits.stall
        // The duration of these is limited elsewhere.
        case .input, .message: .seconds(365 * 86_400)
        }
    }

    /// Counts memory added to a transfer. Returns false, and counts nothing, if memory or a network's share is full.
    package func hold(_ ticket: Ticket, bytes: Int) -> Bool {
        let now = ContinuousClock.now
        let (hasRoom, victims) = change { state in
            guard let transfer = state.transfers[ticket.number],
                !state.exceedsShare(transfer, with: bytes, limits.transferMemory)
            else { return (false, [any Channel]()) }
            let victims = state.makeRoom(for: bytes, of: ticket.number, limits, at: now)
            // A transfer that is alone gets memory, however large it is.
            guard state.held + bytes <= limits.transferMemory || state.held == transfer.held else {
                return (false, victims)
            }
            state.add(bytes, to: ticket.number)
            return (true, victims)
        }
        for channel in victims { channel.abort() }
        if !hasRoom || !victims.isEmpty { meters?.refused.add(.memory, max(victims.count, 1)) }
        return hasRoom
    }

    /// Raises a transfer's counted memory to a total. Returns false if memory or a network's share is full.
    @inline(never)
    func hold(_ ticket: Ticket, atLeast bytes: Int) -> Bool {
        let held = state.withLock { $0.transfers[ticket.number]?.held ?? 0 }
        return bytes <= held || hold(ticket, bytes: bytes - held)
    }

    /// Raises a transfer's counted memory to a total, even if memory is full, because the client waits for the server.
    @inline(never)
    func exempt(_ ticket: Ticket, atLeast bytes: Int) {
        state.withLock { state in
            guard let held = state.transfers[ticket.number]?.held else { return }
            if bytes > held { state.add(bytes - held, to: ticket.number) }
            state.transfers[ticket.number]?.isExempt = true
        }
    }

    @inline(never)
    func endExemption(_ ticket: Ticket) { state.withLock { $0.transfers[ticket.number]?.isExempt = false } }

    func mayWait(_ sender: Sender = .current) -> Bool { state.withLock { $0.mayWait(sender) } }

    /// Releases memory that a transfer no longer holds.
    package func release(_ ticket: Ticket, bytes: Int) {
        change { state in
            guard let held = state.transfers[ticket.number]?.held, held >= bytes else { return }
            state.add(-bytes, to: ticket.number)
        }
    }

    /// Counts memory for a body once there is room. Senders take turns, and each sender's bodies get memory in order.
    ///
    /// - Parameter lane: The queue in which the body waits.
    /// - Returns: False if the connection was closed, the task was cancelled or the caller left.
    package func reserve(
        _ ticket: Ticket, bytes: Int, of sender: Sender = .current, in lane: TransferState.Lane = .files
    ) async -> Bool {
        let caller = CallerPresence.current
        let withdraw: @Sendable () -> Void = { [self] in change { $0.withdraw(ticket.number) } }
        let registration = caller?.onLeaving(withdraw)
        defer { if let registration { caller?.forget(registration) } }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                change { state in
                    state.append(
                        TransferState.Waiter(number: ticket.number, bytes: bytes, continuation: continuation),
                        of: sender, in: lane)
                    // The callback of a caller that left earlier didn't find the body in the queue.
                    if Task.isCancelled || caller?.hasLeft == true { state.withdraw(ticket.number) }
                }
            }
        } onCancel: {
            withdraw()
        }
    }

    /// Changes the state, then resumes the bodies that got memory or stopped waiting.
    private func change<R: Sendable>(_ body: (inout TransferState) -> R) -> R {
        let (result, ready, freed) = state.withLock { state in
            let result = body(&state)
            let ready = state.dequeueReady(limits.transferMemory)
            defer { state.freed = 0 }
            return (result, ready, state.freed)
        }
        if freed > 0 { FreedMemory.record(freed) }
        for next in ready { next.continuation.resume(returning: next.hasRoom) }
        return result
    }

    /// Ends the slowest body that holds memory others wait for, if its client is slower than the usual pace.
    private func makeRoomForWaiting(in state: inout TransferState, at now: ContinuousClock.Instant) -> [any Channel] {
        let obstacles = state.obstacles(limits.transferMemory)
        let slow = state.slowest(of: obstacles, at: now, after: limits.grace, below: Double(Self.usualPace))
        return slow.prefix(1).compactMap { state.remove($0)?.channel }
    }

    /// Closes the connections of the slowest transfers, at most `count`.
    func closeSlowest(_ count: Int) {
        let now = ContinuousClock.now
        let victims = change { state in
            state.slowest(of: state.transfers.keys, at: now, after: limits.grace).prefix(count)
                .compactMap { state.remove($0)?.channel }
        }
        for channel in victims { channel.abort() }
    }

    /// Extends a transfer's deadline by the time that the transferred bytes may take.
    ///
    /// - Parameter pauses: Whether the client waits for the server from now on, until ``resume(_:)``.
    @inline(never)
    package func moved(_ ticket: Ticket, bytes: Int, pauses: Bool = false) {
        let now = ContinuousClock.now
        state.withLock { state in
            guard var transfer = state.transfers[ticket.number] else { return }
            transfer.moved += bytes
            let earned = transfer.deadline + .milliseconds(bytes * 1000 / transfer.slowestPace)
            transfer.deadline = min(earned, now + transfer.stallThreshold)
            if transfer.isBounded {
                let end = transfer.begin + limits.transfer + .seconds(transfer.moved / Self.usualPace)
                transfer.deadline = min(transfer.deadline, end)
            }
            if pauses { transfer.pausedSince = now }
            state.transfers[ticket.number] = transfer
        }
    }

    /// Ends a pause: the server waits for the client again.
    @inline(never)
    package func resume(_ ticket: Ticket) {
        let now = ContinuousClock.now
        state.withLock { state in
            guard var transfer = state.transfers[ticket.number], let since = transfer.pausedSince else { return }
            transfer.pausedSince = nil
            transfer.begin += now - since
            transfer.deadline += now - since
            state.transfers[ticket.number] = transfer
        }
    }

    /// Requires the usual pace for the rest of a body, because its request was already answered.
    @inline(never)
    package func hurry(_ ticket: Ticket) {
        let now = ContinuousClock.now
        state.withLock { state in
            guard var transfer = state.transfers[ticket.number] else { return }
            transfer.slowestPace = Self.usualPace
            transfer.stallThreshold = min(transfer.stallThreshold, limits.grace)
            transfer.deadline = min(transfer.deadline, (transfer.pausedSince ?? now) + limits.grace)
            state.transfers[ticket.number] = transfer
        }
    }

    /// From now on, closes bodies that make no progress for the grace period, because the server is shutting down.
    @inline(never)
    package func endStalledBodies() {
        state.withLock { state in
            state.isEnding = true
            for (number, transfer) in state.transfers where transfer.kind == .body {
                state.transfers[number]?.shorten(to: limits.grace)
            }
        }
    }

    /// Marks a transfer as complete, and keeps counting the memory that it still holds.
    package func rest(_ ticket: Ticket) {
        change { state in
            guard var transfer = state.transfers[ticket.number] else { return }
            guard transfer.held > 0 else {
                _ = state.remove(ticket.number)
                return
            }
            transfer.isResting = true
            state.transfers[ticket.number] = transfer
        }
    }

    @inline(never)
    package func end(_ ticket: Ticket) {
        change { _ = $0.remove(ticket.number) }
    }

    /// Closes overdue connections until the task is cancelled.
    package func run() async {
        let pause = min(limits.idle / 4, limits.stall / 4, .seconds(1))
        while (try? await Task.sleep(for: pause)) != nil {
            for channel in removeOverdue(at: .now) {
                meters?.refused.add(.timeout)
                channel.abort()
            }
        }
    }

    private func removeOverdue(at now: ContinuousClock.Instant) -> [any Channel] {
        change { state in
            let overdue = state.transfers.filter {
                $0.value.deadline < now && !$0.value.isResting && $0.value.pausedSince == nil
            }
            let closed = overdue.keys.compactMap { state.remove($0)?.channel }
            return closed + makeRoomForWaiting(in: &state, at: now)
        }
    }
}
