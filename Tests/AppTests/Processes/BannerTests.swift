import App
import Foundation
import JSON
import ServerConfiguration
import TestSupport
import TestTools
import Testing

@Suite("Startup banner")
struct BannerTests {
    @Test(
        "Prints keys only for an example on a terminal",
        arguments: [
            ("/home/kim/roost/examples/music", true, true), ("/srv/examples", true, true),
            ("/home/kim/roost/examples/music", false, false), ("/etc/roost", true, false),
            ("/srv/examples-old", true, false), ("/srv/my examples", true, false), (nil, true, false),
            (nil, false, false), ("", true, false),
        ] as [(String?, Bool, Bool)])
    func mayShowKeys(folder: String?, isTerminal: Bool, isShown: Bool) {
        #expect(Banner.mayShowKeys(configurationFolder: folder, isTerminal: isTerminal) == isShown)
    }

    @Test("Names keys by their options or prints them, and the sample request uses the same key")
    func lines() throws {
        let file = #"{"appId": "app", "masterKey": "masterSecret", "restAPIKey": "restSecret", "host": "::"}"#
        let (configuration, _) = try Configuration.load(file: Array(file.utf8), environment: [:], flags: [])
        func text(showsKeys: Bool) -> String {
            Banner(
                configuration: configuration, port: 1337, dataFolder: "/data", filesFolder: "/files",
                showsKeys: showsKeys
            ).text
        }
        let hidden = text(showsKeys: false)
        #expect(!hidden.contains("masterSecret") && !hidden.contains("restSecret"), "\(hidden)")
        #expect(hidden.contains("masterKey") && hidden.contains("-H 'X-Parse-REST-API-Key: <restAPIKey>'"))
        let shown = text(showsKeys: true)
        #expect(shown.contains("masterSecret") && shown.contains("-H 'X-Parse-REST-API-Key: restSecret'"), "\(shown)")
        for lines in [hidden, shown] {
            #expect(lines.contains("curl http://127.0.0.1:1337/parse/classes/_User -H 'X-Parse-Application-Id: app'"))
            #expect(!lines.contains("X-Parse-Master-Key"))
        }
    }

    @Test("The sample request succeeds on an empty project as a shell runs it, without the master key")
    func request() async throws {
        let options: JSONObject = [
            "appId": "kim's app", "allowClientClassCreation": false, "logLevel": "info",
        ]
        try await ServerProcesses.run(1, options) { processes in
            var command: Substring?
            let isPrinted = try await eventually {
                command = processes.log.split(separator: "\n").first { $0.hasPrefix("  curl ") }
                return command != nil
            }
            try #require(isPrinted, "\(processes.log)")
            let line = String(try #require(command)).replacing("<restAPIKey>", with: TestServer.restKey)
            let outcome = try await Program.run(["sh", "-c", line])
            #expect(
                outcome.output.contains(#"{"results":[]}"#) && !line.contains("Master"), "\(line): \(outcome.output)")
        }
    }

    private static func configuration(_ file: String) throws -> Configuration {
        try Configuration.load(file: Array(file.utf8), environment: [:], flags: []).configuration
    }

    @Test("Without a terminal, prints the example's public keys and only names others")
    func publicKeys() throws {
        let configuration = try Self.configuration(
            #"{"appId": "music", "masterKey": "music-example-master-key", "clientKey": "secret", "host": "::1"}"#)
        let text = Banner(
            configuration: configuration, port: 1337, dataFolder: "/data", filesFolder: "/files", showsKeys: false
        ).text
        #expect(text.contains("music-example-master-key") && !text.contains("secret"), "\(text)")
        #expect(text.contains("-H 'X-Parse-Client-Key: <clientKey>'") && text.contains("http://[::1]:1337/parse/"))
    }

    @Test(
        "Prints a sign-in URL on a terminal, but to a log only with the example's master key",
        arguments: [
            (#""masterKey": "m""#, true, true), (#""masterKey": "m""#, false, false),
            (#""masterKey": "music-example-master-key""#, false, true),
            (#""masterKey": "m", "host": "127.0.0.1", "console": {"signIn": "thisMachine"}"#, false, false),
            (#""masterKey": "m", "host": "127.0.0.1", "console": {"signIn": "thisMachine"}"#, true, true),
        ])
    func mayShowTicket(options: String, isTerminal: Bool, isShown: Bool) throws {
        let configuration = try Self.configuration(#"{"appId": "a", \#(options)}"#)
        #expect(Banner.mayShowTicket(configuration, isTerminal: isTerminal) == isShown)
    }

    @Test("Prints the console's URL, and the command for a ticket if the URL has none")
    func console() throws {
        var banner = Banner(
            configuration: try Self.configuration(#"{"appId": "a", "masterKey": "m"}"#), port: 1337,
            dataFolder: "/data", filesFolder: "/files", showsKeys: false)
        #expect(!banner.text.contains("console"))
        let command = "roost console open /app/roost.json"
        banner.featureLines = ConsoleAccess.bannerLines("http://localhost:1337/console/", command: command)
        #expect(banner.text.contains("http://localhost:1337/console/\n"))
        #expect(banner.text.contains("for a sign-in link, run: \(command)\n"))
        banner.featureLines = ConsoleAccess.bannerLines("http://localhost:1337/console/#ticket=1", command: command)
        #expect(banner.text.contains("http://localhost:1337/console/#ticket=1\n"))
        #expect(!banner.text.contains("roost console open"))
    }

    @Test("The command for a ticket has the server's file and flags from any folder, without credentials")
    func openCommand() throws {
        let folder = FileManager.default.temporaryDirectory.standardizedFileURL.path + "/roost's \(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = "\(folder)/roost.json"
        let keys = #""appId": "a", "masterKey": "m""#
        func command(_ options: String, _ flags: [String] = [], _ environment: [String: String] = [:]) throws -> String
        {
            try Data("{\(keys)\(options)}".utf8).write(to: URL(fileURLWithPath: file))
            let deployment = try Deployment(arguments: [file] + flags, environment: environment)
            return ConsoleAccess(deployment).openCommand(program: "/opt/roost")
        }
        let start = "/opt/roost console open '\(file.replacing("'", with: #"'\''"#))'"
        #expect(try command("") == start)
        #expect(try command(#", "dataDir": "/data", "port": 4000"#) == start)
        #expect(try command("", ["--dataDir", "/data", "--masterKey", "s3cr3t"]) == start + " --dataDir /data")
        #expect(try command("", [], ["ROOST_DATA_DIR": "/data"]) == start + " --dataDir /data")
        let flags = [
            "--port", "4000", "--console", #"{"enabled": true}"#, "--databaseURI", "postgres://me:s3cr3t@db/x",
        ]
        #expect(
            try command("", flags) == start
                + #" --databaseURI 'postgres://•••@db/x' --port 4000 --console '{"enabled":true}'"#)
        let external = #", "databaseURI": "postgres://me:s3cr3t@db/x""#
        #expect(try command(external, ["--dataDir", "/data"]) == start)
    }

    @Test("Prints the data folder, or the files folder if the database is external")
    func folders() throws {
        let rows = [("{}", "data folder     /data"), (#"{"databaseURI": "postgres://db"}"#, "files folder    /up")]
        for (file, line) in rows {
            let (configuration, _) = try Configuration.load(
                file: Array(file.utf8), environment: [:], flags: ["--appId", "app", "--masterKey", "m"])
            let text = Banner(
                configuration: configuration, port: 1337, dataFolder: "/data", filesFolder: "/up", showsKeys: false
            ).text
            #expect(text.contains(line) && text.components(separatedBy: " folder ").count == 2, "\(text)")
        }
    }

    @Test("The startup log contains the sample request but no keys")
    func banner() async throws {
        let keys: JSONObject = ["masterKey": "secretMasterKey", "restAPIKey": "secretRESTKey", "logLevel": "info"]
        try await ServerProcesses.run(1, keys) { processes in
            let isSaid = try await eventually { processes.log.contains("Try it") }
            #expect(isSaid)
            #expect(processes.log.contains("masterKey"))
            #expect(!processes.log.contains("secretMasterKey"))
            #expect(!processes.log.contains("secretRESTKey"))
        }
    }
}
