/// Tracks whether any other process on the same database may have live-query subscribers.
///
/// A process with live-query clients announces itself when its first client connects, every 20 seconds while it has
/// clients, and when another process asks. Changes are relayed only while announced processes exist. Nothing is missed,
/// because:
/// - A client gets `connected` only after the announcement has committed. PostgreSQL has then signalled every listening
///   session, so writers know before the client can subscribe. Every save that commits after `subscribed` checks this
///   state after its commit.
/// - A process that can't listen (not connected, or behind a transaction pooler) assumes that others have subscribers.
///   So does a process that has only just begun to listen, until the others have had time to respond.
/// - A process that couldn't announce itself until the others forgot it disconnects its followers, as after a broken
///   connection. They reconnect and query again.
package struct OtherProcesses: Sendable {
    /// The interval at which a process with clients announces itself.
    static let interval = Duration.seconds(20)
    /// The silence after which a process is assumed to have no clients.
    static let memory = Duration.seconds(60)
    /// The delay before a process admits its first client. Writes that began before the other processes knew of it have
    /// committed by then, unless they wait for a lock.
    static let grace = Duration.milliseconds(100)
    /// The time limit for responses from other processes.
    static let timeToAnswer = Duration.seconds(10)

    /// Announcements of processes, on the same channel as changes. They have fewer parts than a piece of a change, so
    /// that older versions ignore them.
    package enum Announcement: String {
        /// The process has live-query clients.
        case here
        /// The process has just started listening and asks which others have clients.
        case who

        func text(of process: String) -> String { "\(rawValue) \(process)" }

        /// Parses an announcement. Returns nil for other texts and for announcements of this process.
        package init?(_ text: String, ownProcess: String) {
            let parts = text.utf8.prefix(100).split(separator: UInt8(ascii: " "))
            guard parts.count == 2, let kind = Self(rawValue: String(Substring(parts[0]))),
                !parts[1].elementsEqual(ownProcess.utf8)
            else { return nil }
            self = kind
        }
    }

    private var hears = false
    /// The end of the period in which other processes may have clients that this process hasn't heard of.
    private var learnsUntil: ContinuousClock.Instant?
    /// The end of the period in which another process is assumed to have clients, after its last announcement.
    private var rememberedUntil: ContinuousClock.Instant?
    /// The start of the uninterrupted period in which other processes are known to have clients.
    private var listeningSince: ContinuousClock.Instant?

    package init() {}

    /// Returns whether another process may have subscribers.
    package func mayListen(at now: ContinuousClock.Instant) -> Bool {
        guard hears else { return true }
        return learnsUntil.map { now < $0 } ?? false || rememberedUntil.map { now < $0 } ?? false
    }

    /// Records that this process now receives announcements.
    package mutating func beginHearing(at now: ContinuousClock.Instant) {
        hears = true
        learnsUntil = now + Self.memory
    }

    /// Records that this process has asked the others whether they have clients.
    package mutating func recordQuestion(at now: ContinuousClock.Instant) {
        if hears { learnsUntil = now + Self.timeToAnswer }
    }

    /// Records that this process no longer receives announcements.
    package mutating func endHearing() { hears = false }

    /// Records the announcement of another process.
    package mutating func recordAnnouncement(at now: ContinuousClock.Instant) {
        if !mayListen(at: now) || listeningSince == nil { listeningSince = now }
        rememberedUntil = now + Self.memory
    }

    /// Returns whether a client of another process may miss a write that ends now and wasn't reported. That is the case
    /// if the client was admitted during the write.
    func mayMiss(at now: ContinuousClock.Instant) -> Bool {
        guard mayListen(at: now) else { return false }
        return listeningSince.map { now - $0 > Self.grace / 2 } ?? true
    }
}
