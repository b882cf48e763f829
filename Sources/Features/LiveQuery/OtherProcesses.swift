/// What is known of the other processes on the same database: whether any of them could have subscribers.
///
/// A process with clients of live queries announces itself, when the first one connects and every 20 seconds from then on,
/// and when a process that has just come asks. That nothing is missed by relaying only to processes that announced
/// themselves follows from this:
/// * A client is answered `connected` only when the announcement is committed. PostgreSQL has then signalled every session
///   that listens, so that writers hear of it while the client is still to subscribe, and every save that is committed after
///   `subscribed` looks here after its commit, when it is notified.
/// * A process that does not hear (it has no connection, or is behind a pooler) takes it that others have subscribers. So
///   does one that began to hear a short time ago, until others have answered its question.
/// * A process that could not announce itself for so long that others have forgotten it ends its followers, as it does when
///   its own connection breaks: they come again and look.
package struct OtherProcesses: Sendable {
    /// How often a process with clients announces itself.
    static let interval = Duration.seconds(20)
    /// After how much silence a process is taken to have no clients any more.
    static let memory = Duration.seconds(60)
    /// How long a process that announced its first client keeps it waiting: writes that began before others heard of it are
    /// committed by then, but for those that wait for a lock.
    static let grace = Duration.milliseconds(100)
    /// How long others have to answer a process that asks.
    static let timeToAnswer = Duration.seconds(10)

    /// What processes announce of themselves, beside changes, on the same channel. It has fewer parts than the piece of a
    /// change, so that older processes leave it out.
    package enum Announcement: String {
        /// The process has clients of live queries.
        case here
        /// The process has come, and wants to know who has.
        case who

        func text(of process: String) -> String { "\(rawValue) \(process)" }

        /// Reads an announcement; nil for what is none of another process.
        package init?(_ text: String, ownProcess: String) {
            let parts = text.utf8.prefix(100).split(separator: UInt8(ascii: " "))
            guard parts.count == 2, let kind = Self(rawValue: String(Substring(parts[0]))),
                !parts[1].elementsEqual(ownProcess.utf8)
            else { return nil }
            self = kind
        }
    }

    private var hears = false
    /// Until when it is not known which others have clients.
    private var learnsUntil: ContinuousClock.Instant?
    /// Until when others are taken to have clients, as one announced it.
    private var rememberedUntil: ContinuousClock.Instant?
    /// Since when others are known to have clients, without a break.
    private var listeningSince: ContinuousClock.Instant?

    package init() {}

    /// Whether another process may have subscribers.
    package func mayListen(at now: ContinuousClock.Instant) -> Bool {
        guard hears else { return true }
        return learnsUntil.map { now < $0 } ?? false || rememberedUntil.map { now < $0 } ?? false
    }

    /// Notes that this process hears the others from now on.
    package mutating func beginHearing(at now: ContinuousClock.Instant) {
        hears = true
        learnsUntil = now + Self.memory
    }

    /// Notes that this process asked the others who has clients.
    package mutating func noteQuestion(at now: ContinuousClock.Instant) {
        if hears { learnsUntil = now + Self.timeToAnswer }
    }

    /// Notes that this process hears the others no more.
    package mutating func endHearing() { hears = false }

    /// Notes that another process announced itself.
    package mutating func noteAnnouncement(at now: ContinuousClock.Instant) {
        if !mayListen(at: now) || listeningSince == nil { listeningSince = now }
        rememberedUntil = now + Self.memory
    }

    /// Whether a write that ends now, and of which nothing was noted when it began, may be missed by a client of another
    /// process: one that was let in while it was under way.
    func mayMiss(at now: ContinuousClock.Instant) -> Bool {
        guard mayListen(at: now) else { return false }
        return listeningSince.map { now - $0 > Self.grace / 2 } ?? true
    }
}
