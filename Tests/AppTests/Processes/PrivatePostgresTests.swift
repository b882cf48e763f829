import Foundation
import TestSupport
import Testing

@Suite struct PrivatePostgresTests {
    @Test("A signal while cloud code loads stops the server and its PostgreSQL")
    func signalAtStart() async throws {
        try await CloudApp.with([
            "main.mjs": "import fs from 'node:fs'; fs.writeFileSync(new URL('loads', import.meta.url), ''); "
                + "setInterval(() => {}, 1000); await new Promise(() => {});"
        ]) { app in
            try await CrashServer.run { server in
                let start = Task { try await server.start(options: ["--cloud", app.folder + "/cloud/main.mjs"]) }
                let loads = try await eventually {
                    FileManager.default.fileExists(atPath: app.folder + "/cloud/loads")
                }
                #expect(loads, "\(server.output)")
                #expect(server.postmaster != nil)
                try await server.end(by: SIGTERM)
                #expect(server.postmaster == nil)
                await #expect(throws: CrashServer.Failure.self) { try await start.value }
            }
        }
    }

    @Test("The embedded PostgreSQL inherits only the environment variables that it needs")
    func environment() async throws {
        try await CrashServer.run { server in
            try await server.start(launcher: ["/usr/bin/env", "PARSE_SERVER_WEBHOOK_KEY=secret", "PGPORT=6000"])
            let uri = "postgres:///roost?host=\(server.folder)/data/postgres/socket&port=5432&user=roost"
            try await TestServer.execute(
                "CREATE TABLE environment (line text); COPY environment FROM PROGRAM 'env'", on: uri)
            let lines = try await TestServer.texts("SELECT line FROM environment", on: uri)
            let names = lines.map { $0.prefix { $0 != "=" } }.map(String.init)
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            #expect(lines.contains("PATH=\(path)"), "the value is handed on to its byte")
            #expect(!names.contains("PARSE_SERVER_WEBHOOK_KEY") && !names.contains("PGPORT"))
            // Variables set by PostgreSQL, the shell and the change of user.
            let own: Set<String> = [
                "PATH", "TZ", "LD_LIBRARY_PATH", "PGDATA", "PG_GRANDPARENT_PID", "PG_OOM_ADJUST_FILE", "PGSYSCONFDIR",
                "PGLOCALEDIR", "PWD", "OLDPWD", "SHLVL", "_", "HOME", "LOGNAME", "USER",
            ]
            let other = Set(names).subtracting(own).filter { !$0.hasPrefix("LC_") }
            #expect(other.isEmpty, "\(other)")
        }
    }
}
