import App
import JSON
import Operations
import ParseStorage
import Synchronization
import TestSupport
import Testing

/// The mail queue is woken only after the email is visible to it.
@Suite struct MailWakeTests {
    /// Enqueues emails and reports each wake-up.
    private struct Queue: Mailer {
        let wakes = AsyncStream.makeStream(of: Void.self)

        func enqueue(_ mail: AccountMail, through store: ObjectStore) async throws {
            try await store.mails.enqueue(["kind": .string(mail.kind.rawValue), "to": .string(mail.recipient)])
            // Enough time for a queue that was woken too early to look.
            try await Task.sleep(for: .milliseconds(100))
        }

        func wake() { wakes.continuation.yield() }

        func send(_ mail: AccountMail) async throws {}
    }

    @Test("Wakes the mail queue only once the email is visible, both in and outside of transactions")
    func afterCommit() async throws {
        let queue = Queue()
        var extensions = ServerExtensions()
        extensions.backend.mailer = queue
        let port = try await FreePort.find()
        let options = MailCatcher.options(["verifyUserEmails": true], port: port)
        try await TestServer.run(options, extensions: extensions) { server in
            var wakes = queue.wakes.stream.makeAsyncIterator()
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            await wakes.next()
            #expect(try await server.texts("SELECT count(*)::text FROM _roost_mail") == ["1"])
            _ = try await server.send("POST", "/requestPasswordReset", ["email": "ann@m.example"]).succeeded()
            await wakes.next()
            #expect(try await server.texts("SELECT count(*)::text FROM _roost_mail") == ["2"])
        }
    }
}
