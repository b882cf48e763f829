import Foundation
import JSON
import TestSupport
import TestTools
import Testing

@Suite("Command-line errors", .timeLimit(.minutes(5)))
struct CommandLineTests {
    @Test("Explains missing, unreadable and malformed configuration files")
    func files() async throws {
        let missing = try await CommandLineRun.roost(["serve", "nosuch.json"])
        #expect(missing.status == 1)
        #expect(missing.messages.count == 1 && missing.messages[0].hasPrefix("File not found: nosuch.json in /"))
        #expect(missing.messages[0].hasSuffix("Pass the configuration file, for example roost serve roost.json"))
        let absolute = try await CommandLineRun.roost(["serve", "/nosuch/roost.json"])
        #expect(absolute.messages.first?.hasPrefix("File not found: /nosuch/roost.json. Pass the") == true)
        let folder = try await CommandLineRun.roost(["serve", "."])
        #expect(folder.messages == [". is a folder. Pass the path of the configuration file in it"], "\(folder.errors)")
        // Even root can't read this file.
        let unreadable = try await CommandLineRun.roost(["doctor", "/proc/self/mem"])
        #expect(unreadable.status == 1)
        #expect(unreadable.messages.count == 1, "\(unreadable.errors)")
        #expect(
            unreadable.messages[0].hasPrefix("/proc/self/mem can't be read: Input/output error. "),
            "\(unreadable.errors)")
        let malformed = try await CommandLineRun.roost(
            ["serve", "roost.json"], file: "{\n  \"appId\": \"app\",\n  \"masterKey\": Swordfish\n}")
        #expect(malformed.status == 1)
        #expect(
            malformed.messages == ["roost.json is not valid JSON: unexpected character at line 3, column 16"],
            "\(malformed.errors)")
    }

    private static let index = """
        const { ParseServer } = require('parse-server');
        new ParseServer({
          appId: 'music', masterKey: 'Swordfish', databaseURI: 'mongodb://h/d', cacheAdapter: {}, allowOrigin: 'https://a.example',
          cloud: './cloud/main.js', MORE
        });
        require('http').createServer().listen(1555);
        """

    private static func write(index: String, _ folder: String) throws {
        try Data(index.utf8).write(to: URL(fileURLWithPath: folder + "/index.js"))
    }

    @Test("serve index.js --check --write reports each option's outcome and the secrets to set as variables")
    func check() async throws {
        let run = try await CommandLineRun.roost(["serve", "index.js", "--check", "--write", "new.json"]) {
            try Self.write(index: Self.index.replacing("MORE", with: ""), $0)
        }
        #expect(run.status == 0, "\(run.errors)")
        let lines = run.output.split(separator: "\n").map { $0.split(separator: " ", omittingEmptySubsequences: true) }
        func outcome(_ subject: String) -> String? {
            lines.first { $0.first == subject[...] }.flatMap { $0.dropFirst().first.map(String.init) }
        }
        for taken in ["appId", "port", "cloud"] { #expect(outcome(taken) == "taken", "\(run.output)") }
        #expect(outcome("databaseURI") == "changed" && outcome("cacheAdapter") == "left")
        #expect(run.output.contains("(index.js:2)"))
        #expect(run.output.contains("Set the environment variables PARSE_SERVER_MASTER_KEY"))
    }

    @Test("--write creates a file with the options of index.js but no secrets; --check alone writes nothing")
    func written() async throws {
        let target = FileManager.default.temporaryDirectory.path + "/roost-written-\(UUID().uuidString).json"
        defer { try? FileManager.default.removeItem(atPath: target) }
        let more = "appName: process.env.NO_SUCH_NAME || 'Music by default', emailAdapter: { sendMail() {} }"
        let index = Self.index.replacing("MORE", with: more)
        let run = try await CommandLineRun.roost(["serve", "index.js", "--write", target]) {
            try Self.write(index: index, $0)
        }
        #expect(run.status == 0, "\(run.errors)")
        let file = try String(contentsOfFile: target, encoding: .utf8)
        let options = try JSONValue(parsing: Array(file.utf8))
        #expect(options["appId"] == "music" && options["appName"] == "Music by default", "\(file)")
        #expect(options["port"] == 1555 && options["cloud"] == "./cloud/main.js", "\(file)")
        #expect(options["masterKey"] == nil && options["emailAdapter"] == nil, "\(file)")
        #expect(options["databaseURI"] == nil && !file.contains("Swordfish"), "\(file)")
        let again = try await CommandLineRun.roost(["serve", "index.js", "--write", target]) {
            try Self.write(index: index, $0)
        }
        #expect(again.status == 1 && again.errors.contains("already exists"), "\(again.errors)")
        let listing = ["/bin/sh", "-c", "\"$@\" && echo files: $(ls -A)", "sh"]
        let check = try await CommandLineRun.roost(["serve", "index.js", "--check"], launcher: listing) {
            try Self.write(index: index, $0)
        }
        #expect(check.status == 0 && check.output.hasSuffix("\nfiles: index.js\n"), "\(check.output)")
    }

    @Test("Refuses an index.js with unresolved or invalid options and reports all of them at once")
    func undecided() async throws {
        for arguments in [["serve", "index.js"], ["serve", "index.js", "--check"]] {
            let run = try await CommandLineRun.roost(arguments) {
                try Self.write(
                    index: Self.index.replacing("MORE", with: "publicServerURL: () => '', maxLimit: 0"),
                    $0)
            }
            #expect(run.status == 1)
            let all = run.output + run.errors
            #expect(all.contains("publicServerURL"), "\(all)")
            #expect(all.contains("maxLimit must be a number of at least 1 (index.js)"))
        }
        let missing = try await CommandLineRun.roost(["serve", "nosuch.js"])
        #expect(
            missing.messages.first?.hasPrefix("File not found or not readable: nosuch.js in /") == true,
            "\(missing.errors)")
    }

    @Test("Reports all invalid options of a file or of the command line at once")
    func options() async throws {
        let file = #"{"appId": "app", "masterKy": "Swordfish", "port": 99999, "metrics": true, "databaseURI": "h"}"#
        let run = try await CommandLineRun.roost(["serve", "roost.json", "--maxLimit", "0"], file: file)
        #expect(run.status == 64)
        #expect(
            Set(run.messages) == [
                "unknown option masterKy (roost.json). Did you mean masterKey?",
                "port must be between 1 and 65535 (roost.json)",
                "metrics must be an object, for example {\"port\": 9464} (roost.json)",
                "databaseURI must begin with postgres:// or postgresql:// (roost.json)",
                "maxLimit must be a number of at least 1 (--maxLimit)",
                "masterKey is required. Set it in a configuration file (roost serve roost.json), or with --masterKey",
            ], "\(run.errors)")
        let flag = try await CommandLineRun.roost(["serve", "--mastrKey=Swordfish"])
        #expect(flag.status == 64)
        #expect(
            flag.messages == [
                "unknown option --mastrKey. Did you mean --masterKey?",
                "appId and masterKey are required. Set them in a configuration file (roost serve roost.json), or with "
                    + "--appId and --masterKey",
            ], "\(flag.errors)")
        let flags = try await CommandLineRun.roost(
            ["serve", "roost.json", "--prot", "1400", "--defaultLimt=5", "--port"], file: CommandLineRun.configuration()
        )
        #expect(
            flags.messages == [
                "unknown option --prot. Did you mean --port?",
                "unknown option --defaultLimt. Did you mean --defaultLimit?",
                "port needs a value (--port)",
            ], "\(flags.errors)")
        let short = try await CommandLineRun.roost(["serve", "-p", "1400"], file: CommandLineRun.configuration())
        #expect(
            short.messages == ["unknown option -p. Options begin with two dashes, for example --port"],
            "\(short.errors)")
        let blank = try await CommandLineRun.roost(["serve", "--appId", "a", "--masterKey", "my", "Swordfish"])
        #expect(
            blank.messages == ["unexpected argument after the value of --masterKey. Quote values that contain spaces"],
            "\(blank.errors)")
    }

    @Test("For an unknown option without a similar name, lists the allowed ones or refers to --help")
    func unknownOptions() async throws {
        let file = try CommandLineRun.configuration(["nothingLikeIt": 1, "https": ["crt": "a"]])
        let run = try await CommandLineRun.roost(["serve", "--neitherThis", "1"], file: file)
        #expect(run.status == 64)
        #expect(
            run.messages.prefix(3) == [
                "unknown option --neitherThis. See roost serve --help",
                "unknown option nothingLikeIt (roost.json). See roost serve --help",
                "unknown option https.crt (roost.json). Allowed: certificate, key",
            ], "\(run.errors)")
    }

    @Test("Refuses a URI in place of a command, file or folder without printing its password")
    func misplacedURIs() async throws {
        let uri = "postgres://u:Swordfish@h/d"
        for arguments in [["serve", uri], ["doctor", uri]] {
            let run = try await CommandLineRun.roost(arguments)
            #expect(run.status == 64)
            #expect(
                run.messages == [
                    "A URI can't be the configuration file. Pass the URI of the database with --databaseURI"
                ], "\(run.errors)")
        }
        let replica = ["serve", "--readReplicaURI", "postgres://u:Swordfish%5@h/d"]
        for arguments in [["serve", "roost.json", uri], ["serve", "--" + uri], replica] {
            let run = try await CommandLineRun.roost(arguments, file: CommandLineRun.configuration([:]))
            #expect(run.status == 64 && !run.errors.contains("Swordfish"), "\(run.errors)")
        }
        for (arguments, text) in [
            ([uri], "a URI is not a command. Commands: serve, "),
            (["import", uri], "the source to import can't be a URI. Usage: roost import "),
            (["import", "mongodb+srv://u:Swordfish@h/d"], "MongoDB is imported from a dump. Run mongodump, and "),
            (["export", uri], "the folder to write can't be a URI. Usage: roost export "),
            (["restore", uri], "the backup to restore can't be a URI. Usage: roost restore "),
            (
                ["mail", "preview", "u:Swordfish@h/d", "roost.json"],
                "the folder to write can't contain credentials. Usage: roost mail preview "
            ),
        ] {
            let run = try await CommandLineRun.roost(arguments)
            #expect(run.status == 64)
            #expect(run.messages.count == 1 && run.messages[0].hasPrefix(text), "\(run.errors)")
        }
    }

    @Test(
        "No error prints the password of a URI, whatever argument or option contains it",
        arguments: [
            "postgres://u:Swordfish@h/d", "u:Swordfish@h", "postgres://u:Sword/f?s#h@h/d?password=Swordfish",
        ])
    func passwords(uri: String) async throws {
        @Sendable func check(_ run: CommandLineRun) {
            #expect(run.status == 1 || run.status == 64)
            #expect(!run.messages.isEmpty && !(run.output + run.errors).contains("Sword"), "\(run.errors)")
        }
        let server = ["--from-app-id", "a", "--from-master-key", "m"]
        for arguments in [
            [uri], ["--" + uri], ["serve", "--" + uri], ["serve", "-" + uri], ["doctor", uri], ["restore", uri],
            ["version", uri], ["version", "--" + uri], ["doctor", "--rows", uri], ["files", "copy", "--from", uri],
            ["files", "copy", "--jobs", uri], ["export", "x", "--format", uri], ["export", "x", "--since", uri],
            ["import", "x", "--type", uri], ["import", "--from", uri] + server, ["help", uri],
        ] {
            check(try await CommandLineRun.roost(arguments))
        }
        let named = try await CommandLineRun.roost(["version", "kim@example.com"])
        #expect(named.messages.first == "Unexpected argument 'kim@example.com'", "\(named.errors)")
        try await TestServer.withDatabase { database in
            let value = JSONValue.string(uri)
            for options in [
                ["host": value], ["metrics": ["port": 0, "host": value]], ["cloud": value], ["filesAdapter": value],
                ["emailAdapter": value], ["trustProxy": value], ["masterKeyIps": [value]], ["classDefinitions": value],
                ["trustedCertificates": value, "auth": ["google": ["clientId": "a"]]],
            ] as [JSONObject] {
                let file = try CommandLineRun.configuration(
                    options.merging(["databaseURI": .string(database), "port": 0]) { $1 })
                check(try await CommandLineRun.roost(["serve"], file: file))
            }
        }
    }

    @Test(
        "Wrong arguments end each command with status 64",
        arguments: [
            ["serve"], ["doctor"], ["version"], ["backup", "x"], ["restore", "x"], ["export", "x"], ["import", "x"],
            ["files", "check"], ["files", "copy"], ["files", "rotate"], ["mail", "preview", "x"],
            ["mail", "test", "a@b.example"], ["push", "check"], ["push", "test", "ios:00"], ["console", "open"],
            ["console", "operator", "kim", "viewer"],
        ])
    func usage(command: [String]) async throws {
        let unknown = try await CommandLineRun.roost(command + ["--nosuch"], file: CommandLineRun.configuration())
        #expect(unknown.status == 64)
        #expect(
            unknown.messages.first?.contains("option '--nosuch'") ?? false
                || unknown.messages.contains {
                    $0.hasPrefix("unknown option --nosuch.")
                }, "\(unknown.errors)")
        guard command != ["version"] else { return }
        for wrong in [["--port"], ["--port", "x"], ["--port", "1400", "1"], ["--maxLimit=0"]] {
            let run = try await CommandLineRun.roost(command + wrong, file: CommandLineRun.configuration())
            #expect(run.status == 64, "\(wrong) \(run.errors)")
        }
    }

    @Test(
        "Refuses a metrics port whose address collides with the server's",
        arguments: [
            ("0.0.0.0", "127.0.0.1"), ("127.0.0.1", "0.0.0.0"), ("0.0.0.0", "0.0.0.0"), ("0.0.0.0", "10.0.0.1"),
            ("0.0.0.0", "localhost"), ("localhost", "127.0.0.1"), ("LOCALHOST", "::1"), ("::", "127.0.0.1"),
            ("::", "0.0.0.0"), ("0.0.0.0", "::"), ("::1", "::"), ("::ffff:127.0.0.1", "127.0.0.1"),
            ("0.0.0.0", "server.example"), ("server.example", "Server.example"),
        ])
    func metricsPort(host: String, other: String) async throws {
        let file = try CommandLineRun.configuration([
            "port": 1400, "host": .string(host), "metrics": ["port": 1400, "host": .string(other)],
        ])
        let run = try await CommandLineRun.roost(["serve"], file: file)
        #expect(run.status == 1)
        #expect(
            run.messages == ["metrics.port must differ from port, for example 9464 (roost.json)"], "\(run.errors)")
    }

    @Test("Reports incompatible options together with invalid ones")
    func combinations() async throws {
        let file = try CommandLineRun.configuration([
            "readOnlyMasterKey": "Swordfish", "directDatabaseURI": "postgres://h/d", "port": 99999,
            "passwordPolicy": ["maxPasswordAge": -1, "maxPasswordHistory": 99], "readOnly": true,
            "rateLimitStore": "database",
        ])
        let run = try await CommandLineRun.roost(["serve"], file: file)
        #expect(run.status == 1)
        #expect(
            Set(run.messages) == [
                "masterKey and readOnlyMasterKey should be different (roost.json)",
                "directDatabaseURI requires databaseURI (roost.json)",
                "port must be between 1 and 65535 (roost.json)",
                "passwordPolicy.maxPasswordAge must be a positive number (roost.json)",
                "passwordPolicy.maxPasswordHistory must be an integer ranging 0 - 20 (roost.json)",
                "readOnly can't be combined with rateLimitStore, which writes to the database (roost.json)",
            ], "\(run.errors)")
    }

    @Test("Reads roost.json in the current folder by default")
    func usualFile() async throws {
        let run = try await CommandLineRun.roost(["serve"], file: #"{"appId": "app", "masterKey": "m", "port": "x"}"#)
        #expect(run.messages == ["port must be a number (roost.json)"], "\(run.errors)")
        let doctor = try await CommandLineRun.roost(["doctor", "--json"], file: CommandLineRun.configuration())
        #expect(doctor.status == 1)
        #expect(doctor.messages.first?.hasPrefix("no database in /") == true, "\(doctor.errors)")
        let none = try await CommandLineRun.roost(["serve"])
        #expect(none.messages.first?.hasPrefix("appId and masterKey are required. Set them in") == true)
    }

    @Test(
        "Reports an unknown command with the intended one or the list of commands",
        arguments: [
            (["srve"], "unknown command srve. Did you mean serve? Commands: serve, import, "),
            (["nothing"], "unknown command nothing. Commands: serve, import, "),
            (["roost.json"], "unknown command roost.json. To start the server: roost serve roost.json"),
            (["index.js"], "unknown command index.js. To start the server: roost serve index.js"),
            (["files", "chek"], "unknown command chek. Did you mean check? Commands: check, copy, "),
            (["--masterKey=Swordfish"], "--masterKey is an option of a command: roost serve --masterKey …"),
            (["--nosuch=Swordfish"], "unknown option --nosuch. Commands: serve, "),
            (["help", "srve"], "unknown command srve. Did you mean serve? Commands: serve, "),
        ] as [([String], String)])
    func commands(arguments: [String], text: String) async throws {
        let run = try await CommandLineRun.roost(arguments)
        #expect(run.status == 64)
        #expect(run.messages.count == 1 && run.messages[0].hasPrefix(text), "\(run.errors)")
    }

    @Test(
        "Reports a wrong argument with the command's usage line",
        arguments: [
            (["mail", "test"], "the first argument must be the address", "roost mail test ADDRESS"),
            (["mail", "preview"], "the first argument must be the folder to write", "roost mail preview FOLDER"),
            (["push", "test"], "the first argument must be the device", "roost push test DEVICE"),
            (["console", "operator", "kim"], "and the second the role", "roost console operator NAME ROLE"),
            (["backup", "--json"], "the first argument must be the file to write", "roost backup FILE"),
            (["restore"], "the first argument must be the backup to restore", "roost restore FILE"),
            (["export"], "the first argument must be the folder to write", "roost export FOLDER"),
            (["export", "x", "--since", "now"], "--since: now is not a date", "roost export FOLDER"),
            (["import"], "the first argument must be the source to import", "roost import (SOURCE"),
            (["import", "x", "--jobs", "0"], "--jobs must be between 1 and 64", "roost import (SOURCE"),
            (["doctor", "--rows", "0"], "--rows must be more than 0", "roost doctor [--fix"),
        ] as [([String], String, String)])
    func arguments(arguments: [String], text: String, usage: String) async throws {
        let run = try await CommandLineRun.roost(arguments)
        #expect(run.status == 64)
        #expect(run.errors.contains(text), "\(run.errors)")
        #expect(run.errors.contains("Usage: \(usage)"), "\(run.errors)")
    }

    @Test("Prints one message if a command fails with a Parse error")
    func parseErrors() async throws {
        try await TestServer.withDatabase { uri in
            let run = try await CommandLineRun.roost(
                ["console", "operator", "kim", "viewer"],
                file: CommandLineRun.configuration(["databaseURI": .string(uri)]),
                launcher: ["/bin/sh", "-c", "echo x | \"$@\"", "sh"])
            #expect(run.status == 1)
            #expect(run.messages.count == 1 && !run.messages[0].isEmpty, "\(run.errors)")
        }
    }

    @Test("Ignores options without effect with one line each, and refuses unsupported ones")
    func ignored() async throws {
        let port = try await FreePort.find()
        let ignored: JSONObject = [
            "databaseURI": .string("postgres://u@127.0.0.1:\(port)/d"), "cacheAdapter": "redis", "loggerAdapter": "x",
            "analyticsAdapter": "x", "cluster": 4, "verbose": true,
            "directAccess": true,
        ]
        let run = try await CommandLineRun.roost(["serve"], file: CommandLineRun.configuration(ignored))
        #expect(run.messages.count == 1 && run.messages[0].hasPrefix("Can't reach PostgreSQL"), "\(run.errors)")
        for name in ["cacheAdapter", "loggerAdapter", "analyticsAdapter", "cluster", "directAccess"] {
            let lines = run.errors.split(separator: "\n").filter { $0.contains("option \(name) has no effect: ") }
            #expect(lines.count == 1, "\(run.errors)")
        }
        let refused = try await CommandLineRun.roost(
            ["serve"], file: CommandLineRun.configuration(["databaseAdapter": "x", "mountGraphQL": true]))
        #expect(refused.status == 1)
        #expect(
            refused.messages == [
                "databaseAdapter is not supported (roost.json). Remove it: Roost runs on PostgreSQL; see databaseURI",
                "mountGraphQL is not supported (roost.json). Remove it: Roost has no GraphQL",
            ], "\(refused.errors)")
    }
}

@Suite("Command-line help", .timeLimit(.minutes(5)))
struct CommandLineHelpTests {
    @Test(
        "serve --help lists the required options first, in groups, with hanging indents",
        arguments: [40, 80, 132])
    func serve(width: Int) async throws {
        let run = try await CommandLineRun.roost(["serve", "--help"], environment: ["COLUMNS": "\(width)"])
        #expect(run.status == 0)
        let lines = run.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines[0].hasPrefix("USAGE: roost serve [roost.json]"))
        let options = lines.filter { $0.hasPrefix("  --") }
        #expect(options[0].hasPrefix("  --appId <string>") && options[1].hasPrefix("  --masterKey <string>"))
        #expect(Set(options.map { $0.split(separator: " ")[0] }).count == options.count)
        let titles = lines.filter { $0.hasSuffix(":") && $0 == $0.uppercased() }
        #expect(titles.first == "REQUIRED:" && titles.contains("FILES:") && titles.contains("LIVE QUERIES:"))
        for line in lines where line.count > width { #expect(!line.dropFirst(6).contains(" "), "\(line)") }
        for line in lines where line.hasPrefix(" ") && !line.hasPrefix("  --") && !line.hasPrefix("       ") {
            #expect(line.hasPrefix("      ") && line.dropFirst(6).first != " ", "\(line)")
        }
        let other = try await CommandLineRun.roost(["help", "serve"], environment: ["COLUMNS": "\(width)"])
        #expect(other.output == run.output)
    }

    @Test("Wraps help at the terminal's width")
    func terminal() async throws {
        let script = Checkout.path("Tests/AppTests/Migration/at_terminal.py")
        let run = try await CommandLineRun.roost(
            ["serve", "--help"],
            launcher: ["/usr/bin/env", "python3", script, "", "/bin/sh", "-c", "stty cols 60; exec \"$@\"", "sh"])
        #expect(run.status == 0, "\(run.errors)")
        let longest = run.output.split(separator: "\n").filter { $0.dropFirst(6).contains(" ") }.map(\.count).max() ?? 0
        #expect((50...60).contains(longest), "\(longest)")
    }

    @Test(
        "The help of each command begins with its usage line",
        arguments: [
            "serve", "import", "export", "doctor", "backup", "restore", "files", "files check", "files copy",
            "files rotate", "mail preview", "mail test", "push check", "push test", "console open",
            "console operator", "version",
        ])
    func usage(command: String) async throws {
        let run = try await CommandLineRun.roost(command.split(separator: " ").map(String.init) + ["--help"])
        #expect(run.status == 0, "\(run.errors)")
        let usage = try #require(run.output.split(separator: "\n").first { $0.hasPrefix("USAGE: ") })
        #expect(usage.hasPrefix("USAGE: roost \(command)"), "\(usage)")
        #expect(!run.output.contains("[<arguments>") && !run.output.contains("[configuration]"), "\(run.output)")
    }
}
