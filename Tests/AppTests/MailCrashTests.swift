import Foundation
import JSON
import TestSupport
import Testing

/// Mails that wait while servers and mail servers come and go.
@Suite("Mails of a server that is killed")
struct MailCrashTests {
    @Test("A mail that waits when its server is killed is sent by another one, once, and no log has its link")
    func killed() async throws {
        let port = try MalformedSocket.freePort()
        let options: JSONObject = [
            "appName": "App", "publicServerURL": "http://app.example/parse", "verifyUserEmails": true,
            "emailAdapter": [
                "module": "smtp",
                "options": ["host": "127.0.0.1", "port": .number(Double(port)), "from": "roost@m.example"],
            ],
        ]
        try await ServerProcesses.run(2, options) { processes in
            // Nobody takes mails yet.
            _ = try await processes[0].signUp("ann", ["email": "ann@m.example"])
            kill(processes.identifiers[0], SIGKILL)
            try await MailCatcher.run(port: port) { catcher in
                let mail = try await catcher.mail(to: "ann@m.example", within: .seconds(120))
                let token = try #require(mail.parameter("token"))
                let opened = try await processes[1].send(
                    "GET", "/apps/\(TestServer.applicationID)/verify_email?token=\(token)", as: .nobody)
                #expect(opened.status == 200)
                try await Task.sleep(for: .seconds(2))
                #expect(try catcher.mails().count == 1)
                #expect(!processes.log.contains(token))
            }
        }
    }
}
