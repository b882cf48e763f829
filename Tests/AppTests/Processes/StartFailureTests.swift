import Foundation
import JSON
import TestSupport
import Testing

@Suite("Startup errors", .timeLimit(.minutes(5)))
struct StartFailureTests {
    /// Starts the server, and expects it to fail with a single message.
    private static func failure(_ options: JSONObject, _ arguments: [String] = []) async throws -> String {
        let run = try await CommandLineRun.roost(
            ["serve", "roost.json"] + arguments, file: CommandLineRun.configuration(options))
        #expect(run.status == 1, "\(run.errors)")
        #expect(run.messages.count == 1, "\(run.errors)")
        return run.messages.first ?? ""
    }

    @Test("Reports a port in use and how to fix it, for the server and for its metrics")
    func portInUse() async throws {
        try await TestServer.withDatabase { uri in
            try await SilentServer.run { other in
                let port = other.port
                let main = try await Self.failure(["databaseURI": .string(uri), "port": .number(Double(port))])
                #expect(
                    main == "Port \(port) is in use. Stop the other program or start with --port \(port + 1).",
                    "\(main)")
                let metrics = try await Self.failure([
                    "databaseURI": .string(uri), "port": .number(Double(try await FreePort.find())),
                    "metrics": ["port": .number(Double(port))],
                ])
                #expect(
                    metrics
                        == "Port \(port) (metrics.port) is in use. Stop the other program or choose another metrics.port.",
                    "\(metrics)")
            }
        }
    }

    @Test("Reports the option whose address the computer doesn't have")
    func address() async throws {
        try await TestServer.withDatabase { uri in
            let port = JSONValue.number(Double(try await FreePort.find()))
            let main = try await Self.failure(["databaseURI": .string(uri), "port": port, "host": "192.0.2.1"])
            #expect(
                main
                    == "This computer doesn't have the address 192.0.2.1. Set host to one of its addresses, or to 0.0.0.0 for "
                    + "all of them.", "\(main)")
            let unknown = try await Self.failure([
                "databaseURI": .string(uri), "port": port, "host": "127.0.0.300",
            ])
            #expect(
                unknown
                    == "127.0.0.300 is not an address. Set host to an address of this computer, or to 0.0.0.0 for all of them.",
                "\(unknown)")
            let metrics = try await Self.failure([
                "databaseURI": .string(uri), "port": port,
                "metrics": ["port": .number(Double(try await FreePort.find())), "host": "192.0.2.1"],
            ])
            #expect(metrics.contains("Set metrics.host to one of its addresses"), "\(metrics)")
        }
    }

    @Test("Reports an unusable database or databaseURI once, and how to fix it")
    func database() async throws {
        try await TestServer.withDatabase { uri in
            var parts = try #require(URLComponents(string: uri))
            parts.path = "/no_such_database"
            let database = try await Self.failure(["databaseURI": .string(parts.string ?? "")])
            #expect(
                database.hasSuffix("\"no_such_database\" does not exist. Create the database, or correct databaseURI."),
                "\(database)")
            parts.user = "no_such_role"
            parts.password = "Swordfish"
            let role = try await Self.failure(["databaseURI": .string(parts.string ?? "")])
            #expect(role.hasPrefix("PostgreSQL rejected the log-in: "), "\(role)")
            #expect(role.hasSuffix("Check the user and the password in databaseURI."), "\(role)")
        }
        let port = try await FreePort.find()
        let run = try await CommandLineRun.roost(
            ["serve"],
            file: CommandLineRun.configuration([
                "databaseURI": .string("postgres://u:Swordfish@127.0.0.1:\(port)/d"), "connectionTimeout": 5000,
            ])
        )
        #expect(run.status == 1)
        #expect(run.messages.count == 1)
        #expect(run.messages.first?.hasPrefix("Can't reach PostgreSQL: ") == true, "\(run.errors)")
        #expect(run.errors.components(separatedBy: "refused").count == 2, "\(run.errors)")
        #expect(run.errors.contains("waiting for PostgreSQL"), "\(run.errors)")
        let unknown = try await Self.failure([
            "databaseURI": .string("postgres://u@127.0.0.1:\(port)/d?pasword=Swordfish")
        ])
        #expect(
            unknown == "databaseURI contains the unknown parameter pasword. Correct its name, or remove it.",
            "\(unknown)")
        let value = try await Self.failure([
            "databaseURI": .string("postgres://u@127.0.0.1:\(port)/d?sslmode=Swordfish")
        ])
        #expect(
            value
                == "The parameter sslmode of databaseURI has an invalid value. It must be disable, allow, prefer, require, "
                + "verify-ca or verify-full.", "\(value)")
        for server in ["127.0.0.1:0", "::1"] {
            let wrong = try await Self.failure(["databaseURI": .string("postgres://u:Swordfish@\(server)/d")])
            #expect(
                wrong == "The parameter port of databaseURI has an invalid value. It must be a number from 1 to 65535.",
                "\(wrong)")
        }
        let direct = try await Self.failure(
            ["databaseURI": .string("postgres://u@127.0.0.1:\(port)/d"), "directDatabaseURI": "postgres://u@h/d"])
        #expect(direct.hasSuffix("Start it, or correct databaseURI or directDatabaseURI."), "\(direct)")
        let foreign = try await Self.failure(["databaseURI": "postgres://u:Swordfish@127.0.0.1/d?ssl=true&max=5"])
        #expect(
            foreign
                == "databaseURI contains the unsupported parameter ssl (roost.json). Use sslmode=require instead, or "
                + "sslmode=verify-full to check the certificate", "\(foreign)")
        let doctor = try await CommandLineRun.roost(
            ["doctor"], file: CommandLineRun.configuration(["databaseURI": .string("postgres://u@127.0.0.1:\(port)/d")])
        )
        #expect(doctor.status == 1)
        #expect(doctor.messages.count == 1 && doctor.messages[0].hasPrefix("Can't reach PostgreSQL: "))
    }

    @Test("With readOnly, reports an unprepared database and how to prepare it")
    func unprepared() async throws {
        try await TestServer.withDatabase { uri in
            let options: JSONObject = ["databaseURI": .string(uri), "readOnly": true]
            let remedy =
                "isn't prepared: it has no table _SCHEMA, and a server with readOnly creates no tables. Start roost serve "
                + "once without readOnly, on the primary if this is a standby, or correct"
            let database = try await Self.failure(options)
            #expect(database == "The database \(remedy) databaseURI.", "\(database)")
            let schema = try await Self.failure(options.merging(["databaseSchema": "shop"]) { $1 })
            #expect(schema == "The database schema shop \(remedy) databaseSchema.", "\(schema)")
        }
    }

    @Test("Reports a read-only database and the option to set")
    func readOnly() async throws {
        try await TestServer.withDatabase { uri in
            let name = try #require(URLComponents(string: uri)).path.dropFirst()
            try await TestServer.execute("ALTER DATABASE \(name) SET default_transaction_read_only = on", on: uri)
            let text =
                "PostgreSQL is read-only: it is a standby, or default_transaction_read_only is on. Set the option readOnly "
                + "to serve reads only, or set databaseURI to a server that accepts writes."
            let server = try await Self.failure(["databaseURI": .string(uri)])
            #expect(server == text, "\(server)")
            let console = try await CommandLineRun.roost(
                ["console", "open"], file: CommandLineRun.configuration(["databaseURI": .string(uri)]))
            #expect(console.status == 1 && console.messages == [text], "\(console.errors)")
        }
    }

    @Test("Reports a wrong password in directDatabaseURI without retrying")
    func directAddress() async throws {
        try await TestServer.withDatabase { uri in
            try await PasswordServer.run { port in
                let begin = ContinuousClock.now
                let direct = try await Self.failure([
                    "databaseURI": .string(uri),
                    "directDatabaseURI": .string("postgres://u:Swordfish@127.0.0.1:\(port)/d"),
                ])
                #expect(direct.hasPrefix("PostgreSQL rejected the log-in: "), "\(direct)")
                #expect(direct.hasSuffix("Check the user and the password in directDatabaseURI."), "\(direct)")
                // Administration would retry for ten seconds.
                #expect(ContinuousClock.now - begin < .seconds(9))
            }
        }
    }

    @Test("Refuses a directDatabaseURI that names another database, and creates nothing there")
    func otherDatabase() async throws {
        try await TestServer.withDatabase { uri in
            try await TestServer.withDatabase { other in
                let direct = try await Self.failure(["databaseURI": .string(uri), "directDatabaseURI": .string(other)])
                #expect(direct == "option directDatabaseURI: names another database than databaseURI", "\(direct)")
                let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'"
                #expect(try await TestServer.texts(tables, on: other).isEmpty)
            }
        }
    }

    @Test("Reports missing database privileges and what to grant")
    func rights() async throws {
        try await TestServer.withDatabase { uri in
            let role = "roost_test_" + UUID().uuidString.lowercased().replacing("-", with: "")
            try await TestServer.execute(
                "REVOKE CREATE ON SCHEMA public FROM PUBLIC; CREATE ROLE \(role) LOGIN PASSWORD 'Swordfish'", on: uri)
            var parts = try #require(URLComponents(string: uri))
            (parts.user, parts.password) = (role, "Swordfish")
            let options: JSONObject = ["databaseURI": .string(parts.string ?? "")]
            let text = try? await Self.failure(options)
            try await TestServer.execute("DROP ROLE \(role)", on: uri)
            #expect(
                text?.hasPrefix("PostgreSQL rejected a statement: permission denied for schema public. Grant") == true,
                "\(text ?? "")")
        }
    }

    @Test("Reports a wrong or missing password and missing TLS once, without waiting")
    func signIn() async throws {
        func run(_ uri: String, _ arguments: [String] = ["serve"]) async throws -> String {
            let run = try await CommandLineRun.roost(
                arguments, file: CommandLineRun.configuration(["databaseURI": .string(uri)]))
            #expect(run.status == 1)
            #expect(run.messages.count == 1, "\(run.errors)")
            #expect(!run.errors.contains("waiting for PostgreSQL"), "\(run.errors)")
            return run.messages.first ?? ""
        }
        try await PasswordServer.run { port in
            for command in ["serve", "doctor"] {
                let wrong = try await run("postgres://u:Swordfish@127.0.0.1:\(port)/d", [command])
                #expect(wrong.hasPrefix("PostgreSQL rejected the log-in: "), "\(wrong)")
                #expect(
                    wrong.hasSuffix(
                        "password authentication failed for user \"u\". Check the user and the password in databaseURI."
                    ),
                    "\(wrong)")
            }
            let missing = try await run("postgres://u@127.0.0.1:\(port)/d")
            #expect(missing.hasPrefix("PostgreSQL rejected the log-in: "), "\(missing)")
            #expect(missing.contains("no password supplied. Check the user"), "\(missing)")
            let open = try await run("postgres://u:Swordfish@127.0.0.1:\(port)/d?sslmode=require")
            #expect(open.hasPrefix("Can't connect to PostgreSQL with the TLS settings in databaseURI"), "\(open)")
        }
    }

    @Test("Waits for a database that starts later")
    func lateDatabase() async throws {
        try await TestServer.withDatabase { uri in
            let port = try await FreePort.find()
            var late = try #require(URLComponents(string: uri))
            late.port = port
            let options: JSONObject = ["connectionTimeout": 20_000, "databaseURI": .string(late.string ?? "")]
            let folder = FileManager.default.temporaryDirectory.path + "/roost-late-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let own = try await FreePort.find()
            let file = try CommandLineRun.configuration(options.merging(["port": .number(Double(own))]) { $1 })
            try Data(file.utf8).write(to: URL(fileURLWithPath: folder + "/roost.json"))
            let output = folder + "/output.txt"
            let process = try await CrashProcess.start(
                [try CrashServer.findBinary(), "serve", folder + "/roost.json"], output: output)
            defer { kill(process.identifier, SIGKILL) }
            func log() -> String { (try? String(contentsOfFile: output, encoding: .utf8)) ?? "" }
            let isWaiting = try await eventually { log().contains("waiting for PostgreSQL") }
            #expect(isWaiting, "\(log())")
            let server = TestServer(url: "http://127.0.0.1:\(own)/parse", databaseURI: uri)
            try await LateDatabase.run(at: port, before: uri) {
                let serves = try await eventually {
                    (try? await server.send("GET", "/health", as: .nobody))?.status == 200
                }
                #expect(serves, "\(log())")
                kill(process.identifier, SIGTERM)
                let isGone = try await eventually { !process.isRunning }
                #expect(isGone)
            }
        }
    }

    @Test("Reports a missing Parse SDK and the command that installs it")
    func missingSDK() async throws {
        try await TestServer.withDatabase { uri in
            let file = try CommandLineRun.configuration(["databaseURI": .string(uri), "cloud": "main.js"])
            let run = try await CommandLineRun.roost(["serve"], file: file) { folder in
                try Data("Parse.Cloud.define('f', () => 1);".utf8).write(to: URL(fileURLWithPath: folder + "/main.js"))
            }
            #expect(run.status == 1)
            #expect(run.messages.count == 1, "\(run.errors)")
            #expect(run.messages.first?.hasPrefix("option cloud: the package parse was not found from /") == true)
            #expect(run.messages.first?.hasSuffix("&& npm install parse") == true, "\(run.errors)")
            #expect(run.errors.components(separatedBy: "the package parse").count == 2, "\(run.errors)")
        }
    }

    @Test("Reports the option whose folder can't be created")
    func folders() async throws {
        let data = try await Self.failure([:], ["--dataDir", "/proc/data"])
        #expect(
            data
                == "The data folder /proc/data can't be created: No such file or directory. Set dataDir to a folder that "
                + "this user may write to.", "\(data)")
        try await TestServer.withDatabase { uri in
            let files = try await Self.failure(["databaseURI": .string(uri), "filesDirectory": "/proc/files"])
            #expect(files.hasPrefix("The files folder /proc/files"), "\(files)")
            #expect(files.contains("Set filesDirectory to a folder"), "\(files)")
        }
    }

    @Test("Reports a trustedCertificates file that can't be read")
    func trustedCertificates() async throws {
        for (path, reason) in [
            ("/nosuch.pem", "No such file or directory"), ("/proc/version", "it contains no PEM certificate"),
        ] {
            let message = try await Self.failure([
                "databaseURI": "postgres://u@127.0.0.1/d", "trustedCertificates": .string(path),
                "auth": ["google": ["clientId": "a"]],
            ])
            #expect(message == "option trustedCertificates: \(path) can't be read: \(reason)", "\(message)")
        }
    }

    @Test("With silent, prints nothing but still serves log lines by /scriptlog")
    func silent() async throws {
        try await ServerProcesses.run(1, ["silent": true, "logLevel": "info"]) { processes in
            _ = try await processes[0].send("GET", "/classes/Song")
            let isLogged = try await eventually {
                try await processes[0].send("GET", "/scriptlog?n=100", as: .master).text.contains("/parse/classes/Song")
            }
            #expect(isLogged)
            #expect(processes.log.isEmpty, "\(processes.log)")
        }
    }
}
