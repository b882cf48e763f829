import Foundation
import JSON
import TestSupport
import Testing

@Suite("Email after a server is killed")
struct MailCrashTests {
    @Test("Another server sends a killed server's queued email once, and no log contains the email's token")
    func killed() async throws {
        let port = try await FreePort.find()
        let options = MailCatcher.options(["verifyUserEmails": true], port: port)
        try await ServerProcesses.run(2, options) { processes in
            // The mail server isn't running yet.
            _ = try await processes[0].signUp("ann", ["email": "ann@m.example"])
            kill(processes.identifiers[0], SIGKILL)
            try await MailCatcher.run(port: port) { catcher in
                let mail = try await catcher.mail(to: "ann@m.example", within: .seconds(120))
                let token = try #require(mail.parameter("token"))
                let opened = try await processes[1].send(
                    "GET", "/apps/\(TestServer.applicationID)/verify_email?token=\(token)", as: .nobody)
                #expect(opened.status == 200)
                try await Self.expectEmptyQueue(of: processes[1])
                #expect(try catcher.mails().count == 1)
                #expect(!processes.log.contains(token))
            }
        }
    }

    @Test("An email whose server was killed while sending is sent once by another server, after a minute")
    func killedWhileSending() async throws {
        try await SilentServer.run { silent in
            let options = MailCatcher.options(["verifyUserEmails": true], port: silent.port)
            try await ServerProcesses.run(1, options) { processes in
                let server = processes[0]
                let before = try await server.texts("SELECT now()::text")[0]
                let identifier = processes.identifiers[0]
                silent.onConnection { kill(identifier, SIGKILL) }
                _ = try? await server.signUp("ann", ["email": "ann@m.example"])
                let isUnderWay = try await eventually { silent.connections > 0 }
                #expect(isUnderWay)
                let left = try await server.texts(
                    "SELECT (due >= '\(before)'::timestamptz + interval '1 minute' AND attempts = 1)::text FROM _roost_mail"
                )
                #expect(left == ["true"])
                try await Self.expectSentOnce(by: server)
            }
        }
    }

    /// Expects that another server on the same database sends an email only when it is due, and once.
    private static func expectSentOnce(by server: TestServer) async throws {
        try await MailCatcher.run { catcher in
            try await TestServer.run(on: server.databaseURI, catcher.options(["verifyUserEmails": true])) { _ in
                try await Task.sleep(for: .milliseconds(1500))
                #expect(try catcher.mails().isEmpty)
                // Simulates that a minute has passed.
                try await server.execute("UPDATE _roost_mail SET due = now()")
                _ = try await catcher.mail(to: "ann@m.example")
                try await expectEmptyQueue(of: server)
                #expect(try catcher.mails().count == 1)
            }
        }
    }

    /// Waits until the queue is empty, and expects no second copy of the email.
    private static func expectEmptyQueue(of server: TestServer) async throws {
        let isEmpty = try await eventually { try await server.texts("SELECT id::text FROM _roost_mail").isEmpty }
        #expect(isEmpty)
        try await Task.sleep(for: .milliseconds(300))
    }
}
