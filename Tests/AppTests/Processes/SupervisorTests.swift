import Foundation
import TestSupport
import TestTools
import Testing

/// Notifications to systemd.
@Suite("Notifications to systemd")
struct SupervisorTests {
    /// Listens like the service manager, and writes the received messages to a file.
    private static let listener = """
        import socket, sys
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        listener.bind(sys.argv[1])
        while True:
            text = listener.recv(4096).decode()
            with open(sys.argv[1] + ".heard", "a") as file:
                file.write(text + "\\n")
        """

    /// The received messages in order, without status texts.
    private static func notices(_ path: String) -> [String] {
        let text = (try? String(contentsOfFile: path + ".heard", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("STATUS=") }
    }

    @Test("Sends READY, WATCHDOG and STOPPING notifications")
    func life() async throws {
        try await CrashServer.run { server in
            let path = server.folder + "/notify"
            try await Program.run(["python3", "-c", Self.listener, path]) {
                let isListening = try await eventually { FileManager.default.fileExists(atPath: path) }
                #expect(isListening)
                try await server.start(
                    launcher: [
                        "/usr/bin/env", "NOTIFY_SOCKET=\(path)", "WATCHDOG_USEC=400000", "ROOST_DRAIN_TIME=1",
                    ])
                let isReady = try await eventually { Self.notices(path).first == "READY=1" }
                #expect(isReady, "\(Self.notices(path))")
                let isWatched = try await eventually { Self.notices(path).count { $0 == "WATCHDOG=1" } >= 2 }
                #expect(isWatched, "\(Self.notices(path))")
                #expect(!Self.notices(path).contains("STOPPING=1"))
                let outcome = try await server.end(by: SIGTERM)
                #expect(outcome == .exit(status: 0))
                let all = Self.notices(path)
                #expect(all.last { $0 != "WATCHDOG=1" } == "STOPPING=1", "\(all)")
                #expect(all.count { $0 == "READY=1" } == 1 && all.count { $0 == "STOPPING=1" } == 1, "\(all)")
            }
        }
    }

    @Test("An unreachable notification socket is logged and doesn't affect the server")
    func gone() async throws {
        try await CrashServer.run { server in
            try await server.start(launcher: ["/usr/bin/env", "NOTIFY_SOCKET=\(server.folder)/absent"])
            let outcome = try await server.end(by: SIGTERM)
            #expect(outcome == .exit(status: 0))
            #expect(server.output.contains("can't notify the service manager"), "\(server.output)")
        }
    }
}
