import JSON
import ServerConfiguration
import Testing

@Suite("Option values and their sources")
struct SettingTests {
    private static func settings(
        _ file: JSONObject = [:], environment: [String: String] = [:], flags: [String] = []
    ) throws -> [String: Setting] {
        let keys: JSONObject = ["appId": "app", "masterKey": "the master's"]
        let (configuration, _) = try Configuration.load(
            file: JSONValue.object(keys.merging(file) { $1 }).serialized(), environment: environment, flags: flags)
        return Dictionary(uniqueKeysWithValues: configuration.settings.map { ($0.name, $0) })
    }

    @Test("Reports the value and source of highest precedence, from flags down to defaults")
    func sources() throws {
        let settings = try Self.settings(
            ["port": 1, "host": "file", "mountPath": "/file", "preset": 4],
            environment: ["PORT": "2", "PARSE_SERVER_HOST": "environment"], flags: ["--port", "3"])
        #expect(
            settings["port"]?.source == .flag && settings["port"]?.value == 3 && settings["port"]?.from == ["--port"])
        #expect(settings["host"]?.source == .environment && settings["host"]?.value == "environment")
        #expect(settings["host"]?.from == ["PARSE_SERVER_HOST"])
        #expect(settings["mountPath"]?.source == .file && settings["mountPath"]?.value == "/file")
        #expect(settings["statementTimeout"]?.source == .default && settings["statementTimeout"]?.value == nil)
        #expect(settings["statementTimeout"]?.defaultWords == "30000")
        let preset = settings.values.filter { $0.source == .preset }.map(\.name)
        #expect(preset.contains("allowClientClassCreation"), "\(preset)")
        #expect(settings.count == OptionTable.all.count)
    }

    @Test("Reports member variables as the source, with the merged value")
    func members() throws {
        let settings = try Self.settings(
            ["accountLockout": ["duration": 5, "threshold": 3]],
            environment: ["PARSE_SERVER_ACCOUNT_LOCKOUT_DURATION": "7"])
        let lockout = try #require(settings["accountLockout"])
        #expect(lockout.source == .environment && lockout.from == ["PARSE_SERVER_ACCOUNT_LOCKOUT_DURATION"])
        #expect(lockout.value == ["duration": 7, "threshold": 3])
        let unset = try Self.settings(["port": .null])
        #expect(unset["port"]?.source == .default)
    }

    @Test("The displayed lines of every option load, unset or set, alone or with the options that they require")
    func lines() throws {
        let unset = try Self.settings()
        for (name, setting) in unset where setting.isBuilt {
            let lines = try Self.settings(setting.lines)[name]
            #expect(setting.lines[Name(name)] != nil && lines?.source == .file, "\(name)")
        }
        #expect(unset["emailAdapter"]?.lines.keys.map(\.text) == ["appName", "publicServerURL", "emailAdapter"])
        #expect(unset["filesAdapter"]?.lines["filesAdapter"]?["module"] == "@parse/s3-files-adapter")
        #expect(unset["audit"]?.lines["audit"]?["events"]?.arrayValue?.isEmpty == false)
        #expect(unset["statementTimeout"]?.lines == ["statementTimeout": 30000])
        #expect(unset["classDefinitions"]?.lines == ["classDefinitions": "music"])
        #expect(unset["masterKeyIps"]?.lines == ["masterKeyIps": ["127.0.0.1", "::1"]])
        let file: JSONObject = [
            "port": 4000, "encryptionKey": "s3cr3t", "databaseURI": "postgres://me:s3cr3t@host/db",
            "metrics": ["port": 9464, "key": "s3cr3t"],
        ]
        for (name, setting) in try Self.settings(file) where setting.isBuilt {
            let lines = setting.lines
            #expect(try Self.settings(lines)[name]?.source == .file, "\(name)")
            let text = String(decoding: JSONValue.object(lines).serialized(), as: UTF8.self)
            #expect(!text.contains("s3cr3t") && !text.contains(Setting.mask), "\(name)")
            if name == "port" { #expect(lines == ["port": 4000]) }
        }
    }

    @Test("Option examples are valid, and the values of mail adapters are secret")
    func examples() throws {
        let unset = try Self.settings()
        for name in ["rateLimit", "emailAdapter", "accountLockout", "liveQuery"] {
            let example = try #require(unset[name]?.example)
            #expect(try Self.settings([Name(name): example])[name]?.source == .file, "\(name)")
        }
        let options: JSONObject = [
            "host": "s3cr3t.example", "from": "a@m.example", "auth": ["user": "s3cr3t", "pass": "s3cr3t"],
            "templates": ["passwordResetEmail": ["subject": "Reset", "text": "{{link}}"]],
        ]
        let set = try Self.settings(["emailAdapter": ["module": "smtp", "options": .object(options)]])["emailAdapter"]
        #expect(set?.isSecret == true && set?.value == nil)
        // Its email texts are settings of their own.
        #expect(set?.example == unset["emailAdapter"]?.example)
    }

    @Test("Redacts secrets, also within URLs and objects")
    func secrets() throws {
        let secret = "s3cr3t"
        let settings = try Self.settings(
            [
                "readOnlyMasterKey": .string(secret), "encryptionKey": .string(secret), "fileKey": .string(secret),
                "databaseURI": .string("postgres://me:\(secret)@host/db"),
                "readReplicaURIs": [.string("postgres://me:\(secret)@host/db")],
                "publicServerURL": .string("https://me:\(secret)@example.org/parse"),
                "metrics": ["port": 9, "key": .string(secret)],
                "protectedFields": ["_User": ["*": ["secretToken"]]],
                "tracingHeaders": .string("authorization=\(secret)"),
                "auth": ["github": ["clientId": "a", "clientSecret": .string(secret)]],
            ], environment: ["PARSE_SERVER_MAINTENANCE_KEY": secret], flags: ["--webhookKey", secret])
        for setting in settings.values {
            #expect(setting.value?.text.contains(secret) != true, "\(setting.name)")
            #expect(setting.value?.text.contains("the master's") != true, "\(setting.name)")
        }
        #expect(settings["webhookKey"]?.isSecret == true && settings["webhookKey"]?.source == .flag)
        #expect(settings["publicServerURL"]?.value == "https://•••@example.org/parse")
        #expect(settings["metrics"]?.value == ["port": 9, "key": "•••"])
        #expect(settings["protectedFields"]?.value == ["_User": ["*": ["secretToken"]]])
        #expect(settings["auth"]?.value == nil && settings["auth"]?.isSecret == true)
    }
}
