import JSON
public import Logging
public import Operations
public import Outgoing
import ParseModel
public import ParseStorage
public import ServerConfiguration
import Synchronization
public import Telemetry
import Templates

/// Mails for accounts: they wait in the database, with the change that they are about, and are sent soon after.
///
/// A mail is sent at least once. The process that takes one has it for a minute; when that process dies, another one
/// takes it then. A process that stops finishes what is under way, or gives back what was not sent.
public final class MailQueue: Mailer {
    private let transport: any MailTransport
    private let writer: MailWriter
    private let meters: MailMeters
    private let logger: Logger
    private let (wakes, waker) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// How long a process has a mail that it took, in seconds: longer than sending it may take.
    static let lease = 60.0
    /// How many mails are sent side by side.
    static let atOnce = 8
    /// How many of them go to addresses of one domain: one whose server is slow leaves slots to the others.
    static let atOnceToDomain = 4

    /// Time for running transfers when the server stops.
    private static let grace = Duration.seconds(5)

    /// Transfers in progress by domain.
    private let underWay = Mutex<[Name: Int]>([:])
    /// How long until a mail is tried again, in seconds, after so many failures; then it is given up.
    static let pauses: [Double] = [2, 10, 30, 120, 600, 3600, 4 * 3600, 12 * 3600, 24 * 3600]

    /// - Parameters:
    ///   - caller: What makes requests of HTTP; needed where mails are sent by them.
    ///   - adapter: Calls an adapter of the app's own; needed where it sends the mails.
    ///   - meters: What is counted.
    /// - Throws: `ConfigurationError` for templates that cannot be read.
    public init(
        _ delivery: Configuration.MailDelivery, _ configuration: Configuration, caller: HTTPCaller?,
        adapter: MailAdapterCall? = nil, meters: MailMeters = MailMeters(), logger: Logger
    ) throws {
        self.meters = meters
        transport = try MailTransports.transport(delivery, configuration.outgoing, caller, adapter: adapter)
        writer = try MailWriter(delivery, configuration)
        self.logger = logger
    }

    /// Puts a mail into the queue.
    public func enqueue(_ mail: AccountMail, through store: ObjectStore) async throws {
        var content = content(of: mail)
        content["userId"] = .string(mail.userId)
        if !writer.columns.isEmpty {
            content["user"] = .object(try await store.mails.columns(writer.columns, of: mail.userId))
        }
        try await store.mails.enqueue(content)
    }

    private func content(of mail: AccountMail) -> JSONObject {
        var content: JSONObject = ["kind": .string(mail.kind.rawValue), "to": .string(mail.recipient)]
        content["link"] = mail.link.map { .string($0) }
        content["token"] = mail.token.map { .string($0) }
        content["username"] = mail.user["username"]
        content["email"] = mail.user["email"]
        if writer.usesLocaleOfRequest, let languages = mail.languages {
            content["locales"] = .array(LanguageTag.list(languages).map { .string($0) })
        }
        return content
    }

    /// Sends a mail at once, without the queue and without a second attempt.
    ///
    /// - Throws: `ParseError` with the reason if the mail was not sent.
    public func send(_ mail: AccountMail) async throws {
        do {
            _ = try await transport.send(try writer.message(content(of: mail)))
            meters.results.add(.sent)
        } catch let failure as MailFailure {
            meters.results.add(.failed)
            logger.warning(
                "mail failed", metadata: ["kind": "\(mail.kind.rawValue)", "reason": "\(failure.reason)"])
            let answer = failure.answer.isEmpty ? "" : " The mail server replied: \(failure.answer.prefix(300))"
            throw ParseError(ParseError.otherCause, "The mail was not sent: \(failure.reason).\(answer)")
        }
    }

    /// Has the queue looked at now.
    public func wake() { waker.yield() }

    /// Sends what waits, until the task is cancelled.
    public func run(_ store: ObjectStore) async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                // For what others left, and what is tried again.
                while !Task.isCancelled, (try? await Task.sleep(for: .seconds(1))) != nil { self.wake() }
            }
            group.addTask { await self.measure(store) }
            for await _ in wakes {
                do {
                    while let mail = try await takeMail(store) {
                        group.addTask {
                            let delivery = Task { await self.deliver(mail, store) }
                            await withTaskCancellationHandler {
                                await delivery.value
                            } onCancel: {
                                Task {
                                    try? await Task.sleep(for: Self.grace)
                                    delivery.cancel()
                                }
                            }
                            self.end(mail)
                        }
                    }
                } catch {
                    if !Task.isCancelled {
                        logger.warning("can't read the mail queue", metadata: ["error": "\(error)"])
                    }
                }
            }
            group.cancelAll()
        }
    }

    /// Measures the queue at intervals until the task is cancelled.
    private func measure(_ store: ObjectStore) async {
        while !Task.isCancelled {
            if let (count, oldest) = try? await store.mails.waiting() {
                meters.waiting.set(count)
                meters.oldest.set(Int(oldest))
            }
            try? await Task.sleep(for: Self.lookInterval)
        }
    }

    /// Interval of counting the queued mails.
    private static let lookInterval = Duration.seconds(15)

    private func takeMail(_ store: ObjectStore) async throws -> QueuedMail? {
        guard let full = domainsWithoutPlace, let mail = try await store.mails.take(for: Self.lease, except: full)
        else {
            return nil
        }
        underWay.withLock { $0[mail.domain, default: 0] += 1 }
        return mail
    }

    /// Domains whose slots are all taken, or nil if no slot at all is free.
    private var domainsWithoutPlace: [Name]? {
        underWay.withLock { counts in
            guard counts.values.reduce(0, +) < Self.atOnce else { return nil }
            return counts.filter { $0.value >= Self.atOnceToDomain }.map(\.key)
        }
    }

    private func end(_ mail: QueuedMail) {
        underWay.withLock { counts in
            let rest = counts[mail.domain, default: 1] - 1
            counts[mail.domain] = rest > 0 ? rest : nil
        }
        wake()
    }

    private func deliver(_ mail: QueuedMail, _ store: ObjectStore) async {
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await send(mail))
        } catch {
            outcome = .failure(error)
        }
        // Noted also when the server is about to end: what was sent is not to be sent again.
        await Task {
            do {
                try await note(outcome, of: mail, store)
            } catch {
                // It is taken again when the lease has ended: it may have been sent.
                logger.warning("mail postponed", metadata: ["mail": "\(mail.id)", "error": "\(error)"])
            }
        }.value
    }

    private func note(_ outcome: Result<Void, any Error>, of mail: QueuedMail, _ store: ObjectStore) async throws {
        do {
            try outcome.get()
            meters.results.add(.sent)
            try await store.mails.remove(mail.id)
        } catch is CancellationError {
            try await store.mails.giveBack(mail)
        } catch let failure as MailFailure {
            var pause = Int(mail.attempts) <= Self.pauses.count ? Self.pauses[Int(mail.attempts) - 1] : nil
            // What may have been taken is not sent twice within a minute.
            if failure.isOpen { pause = pause.map { max($0, Self.lease) } }
            let kind = mail.content["kind"]?.stringValue ?? ""
            guard let pause, !failure.isFinal else {
                meters.results.add(.failed)
                try await store.mails.giveUp(mail.id, reason: failure.reason)
                return logger.error(
                    "mail failed",
                    metadata: ["mail": "\(mail.id)", "kind": "\(kind)", "reason": "\(failure.reason)"])
            }
            meters.results.add(.postponed)
            try await store.mails.postpone(mail.id, by: pause, reason: failure.reason)
            logger.warning(
                "mail not sent, will retry",
                metadata: ["mail": "\(mail.id)", "kind": "\(kind)", "reason": "\(failure.reason)"])
        }
    }

    private func send(_ mail: QueuedMail) async throws {
        _ = try await transport.send(try writer.message(mail.content))
    }
}
