import Foundation
import JSON
import TestSupport
import Testing

/// Node.js processes of cloud code next to a server process.
@Suite("The Node.js process of a server", .timeLimit(.minutes(10)))
struct CloudProcessTests {
    private static let code = """
        Parse.Cloud.define('pid', () => process.pid);
        Parse.Cloud.define('spin', () => {
          require('fs').writeFileSync(`${__dirname}/spins`, '');
          for (;;);
        });
        """

    private static func pid(_ server: TestServer) async throws -> pid_t {
        let answer = try await server.send("POST", "/functions/pid", [:])
        return pid_t(try #require(answer["result"]?.numberValue, "\(answer.text)"))
    }

    private static func ends(_ process: pid_t) async throws -> Bool {
        try await eventually { kill(process, 0) != 0 }
    }

    @Test("Ends with the server, even if the server is killed", arguments: [SIGTERM, SIGKILL])
    func end(signal: Int32) async throws {
        try await CloudApp.with(["main.js": Self.code]) { app in
            try await ServerProcesses.run(1, ["cloud": .string(app.main)]) { processes in
                let node = try await Self.pid(processes.servers[0])
                kill(processes.identifiers[0], signal)
                #expect(try await Self.ends(node))
            }
        }
    }

    @Test("Ends when the server is killed, even if its event loop is blocked")
    func hung() async throws {
        try await CloudApp.with(["main.js": Self.code]) { app in
            try await ServerProcesses.run(1, ["cloud": .string(app.main)]) { processes in
                let server = processes.servers[0]
                let node = try await Self.pid(server)
                async let _ = try? server.send("POST", "/functions/spin", [:])
                let spins = try await eventually { FileManager.default.fileExists(atPath: app.folder + "/cloud/spins") }
                #expect(spins)
                kill(processes.identifiers[0], SIGKILL)
                #expect(try await Self.ends(node))
            }
        }
    }

    @Test("Ends when roost serve --check is killed, even if index.js never finishes loading")
    func reader() async throws {
        let code = "require('fs').writeFileSync(`${__dirname}/pid`, `${process.pid} `); for (;;);"
        try await CloudApp.with(["index.js": code]) { app in
            let server = Process()
            server.executableURL = URL(fileURLWithPath: try CrashServer.findBinary())
            server.arguments = ["serve", app.folder + "/cloud/index.js", "--check"]
            server.standardError = FileHandle.nullDevice
            try server.run()
            func reader() -> pid_t? {
                guard let text = try? String(contentsOfFile: app.folder + "/cloud/pid", encoding: .utf8) else {
                    return nil
                }
                return text.hasSuffix(" ") ? pid_t(text.dropLast()) : nil
            }
            #expect(try await eventually { reader() != nil })
            kill(server.processIdentifier, SIGKILL)
            #expect(try await Self.ends(try #require(reader())))
        }
    }

    @Test("SIGHUP loads cloud code in a new process and ends the old one")
    func hangUp() async throws {
        try await CloudApp.with(["main.js": Self.code]) { app in
            try await ServerProcesses.run(1, ["cloud": .string(app.main)]) { processes in
                let server = processes.servers[0]
                let first = try await Self.pid(server)
                kill(processes.identifiers[0], SIGHUP)
                #expect(try await eventually { try await Self.pid(server) != first })
                #expect(try await Self.ends(first))
            }
        }
    }
}
