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

/// Queues account emails in the database, in the same transaction as the change that causes them, and sends them
/// shortly afterward.
///
/// Emails survive a crash, but may be sent twice: a process leases each email for a minute, and another process sends
/// it if the lease expires. On shutdown, running transfers have five seconds to finish. Then they are cancelled, and
/// their leases released.
public final class MailQueue: Mailer {
    private let transport: any MailTransport
    private let writer: MailWriter
    private let meters: MailMeters
    private let logger: Logger
    private let (wakes, waker) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// The lease of an email in seconds, which exceeds the time limit for sending.
    static let lease = 60.0
    /// The maximum number of concurrent transfers.
    static let atOnce = 8
    /// The maximum number of concurrent transfers to one domain. A slow mail server leaves the other slots free.
    static let atOnceToDomain = 4

    private static let grace = Duration.seconds(5)

    private let underWay = Mutex<[Name: Int]>([:])
    /// The delays before each retry, in seconds. After the last retry the email is given up.
    static let pauses: [Double] = [2, 10, 30, 120, 600, 3600, 4 * 3600, 12 * 3600, 24 * 3600]

    /// - Parameters:
    ///   - writer: Writes the emails.
    ///   - caller: The HTTP client, or nil to create one if the transport needs it.
    ///   - adapter: Calls the app's own mail adapter. Required if the configuration selects that adapter.
    ///   - meters: Counts the emails.
    /// - Throws: `ConfigurationError` for invalid request bodies, or a missing adapter.
    public init(
        _ configuration: Configuration, _ writer: MailWriter, caller: HTTPCaller?, adapter: MailAdapterCall? = nil,
        meters: MailMeters = MailMeters(), logger: Logger
    ) throws {
        self.meters = meters
        transport = try MailTransports.transport(writer.delivery, configuration.outgoing, caller, adapter: adapter)
        self.writer = writer
        self.logger = logger
    }

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

    /// Sends an email immediately, without the queue and without retries.
    ///
    /// - Throws: `ParseError` with the reason if the email was not sent.
    public func send(_ mail: AccountMail) async throws {
        do {
            _ = try await transport.send(try writer.message(content(of: mail)))
            meters.results.add(.sent)
        } catch let failure as MailFailure {
            meters.results.add(.failed)
            logger.warning(
                "email failed", metadata: ["kind": "\(mail.kind.rawValue)", "reason": "\(failure.reason)"])
            let answer = failure.answer.isEmpty ? "" : " The mail server replied: \(failure.answer.prefix(300))"
            throw ParseError(ParseError.otherCause, "The email was not sent: \(failure.reason).\(answer)")
        }
    }

    public func use(_ templates: [RuntimeOption: Configuration.MailTemplate]) { writer.use(templates) }

    public func draft(_ kind: AccountMail.Kind, _ template: Configuration.MailTemplate?, language: String)
        throws(ConfigurationError) -> JSONObject
    {
        try writer.draft(kind, template, language: language)
    }

    /// Checks the queue immediately instead of within a second.
    public func wake() { waker.yield() }

    /// Sends queued emails until the task is cancelled.
    public func run(_ store: ObjectStore) async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                // Finds due retries, and emails that other processes left.
                while !Task.isCancelled, (try? await Task.sleep(for: .seconds(1))) != nil { self.wake() }
            }
            group.addTask { await self.measure(store) }
            for await _ in wakes {
                do {
                    while let mail = try await dequeue(store) {
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

    private func measure(_ store: ObjectStore) async {
        while !Task.isCancelled {
            if let (count, oldest) = try? await store.mails.waiting() {
                meters.waiting.set(count)
                meters.oldest.set(Int(oldest))
            }
            try? await Task.sleep(for: Self.pollInterval)
        }
    }

    private static let pollInterval = Duration.seconds(15)

    private func dequeue(_ store: ObjectStore) async throws -> QueuedMail? {
        guard let full = domainsWithoutPlace, let mail = try await store.mails.dequeue(for: Self.lease, except: full)
        else {
            return nil
        }
        underWay.withLock { $0[mail.domain, default: 0] += 1 }
        return mail
    }

    /// The domains whose slots are all taken, or nil if no slot at all is free.
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
            _ = try await transport.send(try writer.message(mail.content))
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        // Not cancelled when the server stops, so that a sent email is recorded and not sent again.
        await Task {
            do {
                try await record(outcome, of: mail, store)
            } catch {
                // The email is dequeued again when its lease expires.
                logger.warning(
                    "can't store an email's result, so it may be sent twice",
                    metadata: ["mail": "\(mail.id)", "error": "\(error)"])
            }
        }.value
    }

    private func record(_ outcome: Result<Void, any Error>, of mail: QueuedMail, _ store: ObjectStore) async throws {
        do {
            try outcome.get()
            meters.results.add(.sent)
            try await store.mails.remove(mail.id)
        } catch is CancellationError {
            try await store.mails.giveBack(mail)
        } catch let failure as MailFailure {
            var pause = Int(mail.attempts) <= Self.pauses.count ? Self.pauses[Int(mail.attempts) - 1] : nil
            // An email that the server may have accepted isn't sent again within a minute.
            if failure.isOpen { pause = pause.map { max($0, Self.lease) } }
            let kind = mail.content["kind"]?.stringValue ?? ""
            guard let pause, !failure.isFinal else {
                meters.results.add(.failed)
                try await store.mails.giveUp(mail.id, reason: failure.reason)
                return logger.error(
                    "email failed",
                    metadata: ["mail": "\(mail.id)", "kind": "\(kind)", "reason": "\(failure.reason)"])
            }
            meters.results.add(.postponed)
            try await store.mails.postpone(mail.id, by: pause, reason: failure.reason)
            logger.warning(
                "email not sent, will retry",
                metadata: ["mail": "\(mail.id)", "kind": "\(kind)", "reason": "\(failure.reason)"])
        }
    }
}
