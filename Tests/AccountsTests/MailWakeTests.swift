import App
import JSON
import Operations
import ParseStorage
import Synchronization
import TestSupport
import Testing

/// When what sends mails is woken.
@Suite struct MailWakeTests {
    /// Puts mails into the queue, and says each time that it is woken.
    private struct Queue: Mailer {
        let wakes = AsyncStream.makeStream(of: Void.self)

        func enqueue(_ mail: AccountMail, through store: ObjectStore) async throws {
            try await store.mails.enqueue(["kind": .string(mail.kind.rawValue), "to": .string(mail.recipient)])
            // Long enough for a queue that was woken too early to have looked.
            try await Task.sleep(for: .milliseconds(100))
        }

        func wake() { wakes.continuation.yield() }

        func send(_ mail: AccountMail) async throws {}
    }

    @Test("A mail of a sign-up can be taken when the queue is woken for it, and so can one outside of a transaction")
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
