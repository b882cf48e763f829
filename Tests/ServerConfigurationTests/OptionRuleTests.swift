import JSON
import ServerConfiguration
import Testing

@Suite("Option rules")
struct OptionRuleTests {
    @Test("Requires appId and masterKey")
    func mandatory() {
        let refused = [
            ("{}", "appId and masterKey are required. Set them in"),
            (#"{"appId":"a"}"#, "masterKey is required. Set it in"),
            (#"{"masterKey":"m"}"#, "appId is required. Set it in"),
            (#"{"appId":"","masterKey":"m"}"#, "appId is required. Set it in"),
        ]
        for (file, text) in refused {
            do {
                _ = try Configuration.load(file: Array(file.utf8), environment: [:], flags: [])
                Issue.record("\(file) must be refused")
            } catch {
                #expect(error.message.hasPrefix("ERROR: \(text)"), "\(error.message)")
            }
        }
    }

    @Test("Rejects other keys that equal the master key")
    func keys() {
        #expect(refusal(["readOnlyMasterKey": "master"]) == "masterKey and readOnlyMasterKey should be different")
        #expect(refusal(["maintenanceKey": "master"]) == "masterKey and maintenanceKey should be different")
    }

    @Test(
        "Rejects invalid entries in address lists",
        arguments: ["masterKeyIps", "maintenanceKeyIps", "readOnlyMasterKeyIps"])
    func addresses(name: String) {
        for entry in ["10.0.0", "10.0.0.0/33", "localhost", "::/129", "", "1.2.3.4/", "10.0.0.1-10.0.0.9"] {
            #expect(
                refusal([Name(name): ["127.0.0.1", .string(entry)]])
                    == "The Parse Server option \"\(name)\" contains an invalid IP address \"\(entry)\".")
        }
        #expect(refusal([Name(name): ["127.0.0.1", 5]])?.contains(name) == true)
    }

    @Test(
        "Recognizes lists that admit all addresses, in any notation",
        arguments: [
            (["0.0.0.0/0"], true), (["0.0.0.0"], true), (["::/0"], true), (["::"], true), (["::0"], true),
            (["0:0:0:0:0:0:0:0/0"], true), (["1.2.3.4/0"], true), (["::ffff:0:0/96"], true),
            (["::ffff:0.0.0.0/95"], true),
            (["127.0.0.1", "0.0.0.0/1", "128.0.0.0/1"], true), (["::/1", "8000::/1"], true),
            (["128.0.0.0/2", "0.0.0.0/1", "192.0.0.0/2"], true), (["127.0.0.1", "::1"], false), ([], false),
            (["0.0.0.0/1", "128.0.0.0/2"], false), (["10.0.0.0/8", "fc00::/7"], false), (["::ffff:0:0/97"], false),
        ] as [([String], Bool)])
    func everywhere(entries: [String], isEverybody: Bool) throws {
        #expect(try AddressList(entries).admitsEverybody == isEverybody)
    }

    @Test("Reads transactionPooler as true, false or prepared, and rejects other values")
    func pooler() throws {
        for (value, expected) in [
            (false, .none), (true, .unprepared), ("true", .unprepared), ("prepared", .prepared),
        ] as [(JSONValue, Configuration.DatabaseOptions.TransactionPooler)] {
            let loaded = try load(["databaseOptions": ["transactionPooler": value]])
            #expect(loaded.databaseOptions.transactionPooler == expected)
        }
        #expect(
            refusal(["databaseOptions": ["transactionPooler": "session"]])
                == "databaseOptions.transactionPooler must be true, false or \"prepared\".")
    }

    @Test("Rejects unsupported options by name, unless they are off or empty")
    func notBuilt() {
        let asking: JSONObject = [
            "mountGraphQL": true, "graphQLSchema": "x", "databaseAdapter": "x",
        ]
        for (name, value) in asking {
            #expect(
                refusal([name: value])?.hasPrefix("\(name) is not supported. Remove it: ") == true,
                "\(name)")
        }
        let harmless: JSONObject = [
            "verifyUserEmails": false, "mountGraphQL": false, "cloud": "", "rateLimit": [], "liveQuery": [:],
        ]
        #expect(refusal(harmless) == nil)
    }

    @Test("Accepts options without effect and warns about them")
    func ignored() throws {
        let warnings = try told([
            "collectionPrefix": "x", "verifyServerUrl": true, "cacheAdapter": ["module": "redis"], "loggerAdapter": "x",
            "analyticsAdapter": "x", "cluster": 2, "liveQuery": ["pubSubAdapter": "x"],
            "liveQueryServerOptions": ["wssAdapter": "x"], "serverStartComplete": "x",
        ])
        #expect(warnings.count { $0.contains(" has no effect: ") } == 9, "\(warnings)")
        #expect(warnings.contains("option collectionPrefix has no effect: MongoDB only"))
        #expect(warnings.contains("option cacheAdapter has no effect: Roost has its own cache"))
    }

    @Test("Accepts logLevel as a list of exactly one level")
    func logLevelList() throws {
        let file: JSONObject = ["appId": "a", "masterKey": "m", "logLevel": ["error"]]
        let configuration = try Configuration.load(file: file.serialized(), environment: [:], flags: []).configuration
        #expect(configuration.logLevel == "error")
        let levels = "logLevel must be one of error, warn, info, verbose, debug, silly, silent"
        #expect(refusal(["logLevel": ["error", "warn"]]) == levels)
        #expect(refusal(["logLevel": [1]]) == "logLevel must be a string or a list of strings")
    }

    @Test(
        "Suggests the right place or spelling for misplaced and misspelled options",
        arguments: [
            (
                ["poolSize": 5],
                "error: unknown option poolSize. It belongs in databaseOptions: databaseOptions.poolSize"
            ),
            (
                ["websocketTimeout": 5],
                "error: unknown option websocketTimeout. It belongs in liveQueryServerOptions: "
                    + "liveQueryServerOptions.websocketTimeout"
            ),
            (["restApiKey": "x"], "error: unknown option restApiKey. Did you mean restAPIKey?"),
            (["databaseUri": "x"], "error: unknown option databaseUri. Did you mean databaseURI?"),
            (
                ["accountLockout": ["appName": "x", "duration": 1, "threshold": 3]],
                "error: unknown option accountLockout.appName. It belongs at the top level: appName"
            ),
            (
                ["useMasterKey": true],
                "error: unknown option useMasterKey. Remove it: it is an option of SDK calls, not of the server"
            ),
        ] as [(JSONObject, String)])
    func misplaced(file: JSONObject, expected: String) throws {
        #expect(refusal(file) == expected)
        let warnings = try told(file.merging(["preset": 7]) { $1 })
        let hint = try #require(expected.firstRange(of: ". ")).lowerBound
        #expect(warnings.contains { $0.hasSuffix(expected[hint...]) }, "\(warnings)")
    }

    @Test("Reads the schema from three equivalent options, and rejects conflicts and reserved names")
    func schemas() throws {
        for options: JSONObject in [
            ["databaseSchema": "mine"], ["databaseOptions": ["schema": "mine"]],
            ["databaseOptions": ["initOptions": ["schema": "mine"]]],
            ["databaseSchema": "mine", "databaseOptions": ["initOptions": ["schema": "mine"], "schema": "mine"]],
        ] {
            #expect(try load(options).databaseSchema == "mine")
            #expect(try told(options) == [])
        }
        for none: JSONValue in ["", "public"] { #expect(try load(["databaseSchema": none]).databaseSchema == nil) }
        #expect(try load(["databaseSchema": "App \"1\".b"]).databaseSchema == "App \"1\".b")
        for name in ["pg_app", "information_schema", "$user", "a\u{0}", "a\nb", String(repeating: "x", count: 64)] {
            #expect(
                refusal(["databaseSchema": .string(name)])
                    == "databaseSchema must be a schema name of at most 63 bytes that PostgreSQL doesn't reserve")
        }
        #expect(
            refusal(["databaseSchema": "mine", "databaseOptions": ["schema": "yours"]])
                == "databaseOptions.schema and another option name different schemas. Set only databaseSchema")
        #expect(
            refusal(["databaseOptions": ["initOptions": ["schema": ["mine", "public"]]]])
                == "databaseOptions.initOptions.schema must be the name of one schema")
        #expect(
            refusal(["databaseSchema": "mine", "databaseOptions": ["transactionPooler": true]])?.hasPrefix(
                "databaseSchema with a transactionPooler requires directDatabaseURI") == true)
    }

    @Test("Warns about database options of other drivers")
    func driverSettings() throws {
        let options: JSONObject = [
            "poolSize": 5, "enableSchemaHooks": true, "retryWrites": true, "ssl": nil, "maxPoolSize": 5,
            "initOptions": ["schema": ""],
        ]
        let unread = ["initOptions", "maxPoolSize", "retryWrites"].map {
            "option databaseOptions.\($0) has no effect: set connection parameters in databaseURI"
        }
        #expect(try told(["databaseOptions": .object(options)]).sorted() == unread)
        #expect(
            refusal(["databaseOptions": ["allowPublicExplain": "yes"]])
                == "databaseOptions.allowPublicExplain must be true or false")
    }

    @Test("Warns about values that the preset no longer supports")
    func removed() throws {
        let pages: JSONValue = ["invalidLink": "https://w.example/i", "parseFrameURL": "https://w.example/f"]
        let refusing: JSONObject = [
            "encodeParseObjectInCloudFunction": false, "pages": ["enableRouter": false], "customPages": pages,
        ]
        #expect(try told(refusing.merging(["preset": 8]) { $1 }).isEmpty)
        let warnings = try told(refusing)
        #expect(warnings.count == 3)
        for name in ["encodeParseObjectInCloudFunction", "pages.enableRouter", "customPages.invalidLink"] {
            #expect(warnings.contains { $0.hasPrefix("option \(name) has no effect: ") }, "\(name)")
        }
        let asking: JSONObject = ["encodeParseObjectInCloudFunction": true, "pages": ["enableRouter": true]]
        #expect(try told(asking).isEmpty)
        #expect(try told(asking.merging(["preset": 8, "customPages": pages]) { $1 }).count == 1)
    }

    @Test("Each preset has the defaults of its parse-server version", arguments: 4...9)
    func presets(preset: Int) throws {
        let configuration = try load(["preset": .number(Double(preset))])
        #expect(configuration.preset == preset)
        #expect(configuration.parseServerVersion.hasPrefix("\(preset)."))
        #expect(configuration.allowClientClassCreation == (preset <= 6))
        #expect(configuration.enforcePrivateUsers == (preset >= 6))
        #expect(configuration.enableSanitizedErrorResponse == (preset >= 8))
        #expect(configuration.databaseOptions.allowPublicExplain == (preset <= 8))
        #expect(configuration.masterKeyIps.contains("127.0.0.1") == (preset >= 6))
        #expect(configuration.fileUpload.callers.enableForPublic == (preset == 4))
        #expect(configuration.fileUpload.callers.enableForAuthenticatedUser)
    }

    @Test("Options override the preset, and only presets 4 to 9 are accepted")
    func presetEdges() throws {
        #expect(try load(["preset": 4, "allowClientClassCreation": false]).allowClientClassCreation == false)
        #expect(try load(["preset": 9, "allowClientClassCreation": true]).allowClientClassCreation)
        #expect(refusal(["preset": 3]) == "preset must be between 4 and 9")
        #expect(refusal(["preset": 10]) == "preset must be between 4 and 9")
    }

    @Test("Uses parse-server's defaults")
    func defaults() throws {
        let configuration = try load()
        #expect(configuration.host == "0.0.0.0")
        #expect(configuration.mountPath == "/parse")
        #expect(configuration.serverURL == "http://localhost:1337/parse")
        #expect(configuration.maxUploadSize == 20 * 1024 * 1024)
        #expect(configuration.sessionLength == 31_536_000)
        #expect(configuration.defaultLimit == 100)
        #expect(configuration.maxLimit == nil)
        #expect(configuration.objectIdSize == 10)
        #expect(configuration.readOnlyMasterKeyIps == ["0.0.0.0/0", "::0"])
        #expect(configuration.maintenanceKeyIps == ["127.0.0.1", "::1"])
        #expect(configuration.protectedFields == ["_User": ["*": ["email"]]])
        #expect(configuration.cacheTTL == 5000)
        #expect(configuration.idempotencyOptions.ttl == 300)
        #expect(configuration.revokeSessionOnPasswordReset)
        #expect(configuration.enableAnonymousUsers)
        #expect(!configuration.allowCustomObjectId)
    }

    @Test("Requires http or https URLs and removes trailing slashes")
    func urls() throws {
        #expect(
            refusal(["serverURL": "localhost:1337/parse"])
                == "serverURL should be a valid URL starting with https:// or http://")
        #expect(try load(["serverURL": "https://a.example/parse/"]).serverURL == "https://a.example/parse")
        #expect(try load(["publicServerURL": "https://a.example/1//"]).publicServerURL == "https://a.example/1")
        #expect(refusal(["publicServerURL": "a.example"]) != nil)
        #expect(try load(["port": 8080, "mountPath": "api"]).serverURL == "http://localhost:8080/api")
        #expect(try load(["mountPath": "/"]).mountPath == "/")
        #expect(try load(["mountPath": "/"]).serverURL == "http://localhost:1337")
        #expect(try load(["mountPath": "/parse/"]).serverURL == "http://localhost:1337/parse")
    }

    @Test("Matches routeAllowList patterns against whole paths, and rejects invalid patterns")
    func routes() throws {
        #expect(refusal(["routeAllowList": ["("]]) == "routeAllowList has an invalid pattern (")
        #expect(refusal(["routeAllowList": ["a)(b"]]) == "routeAllowList has an invalid pattern a)(b")
        #expect(refusal(["routeAllowList": [1]]) == "routeAllowList must be an array of strings")
        #expect(refusal(["routeAllowList": "classes"]) != nil)
        #expect(try load([:]).routeAllowList == nil)
        let list = try #require(try load(["routeAllowList": ["a|b.*", "c"]]).routeAllowList)
        for path in ["a", "b", "bc/d", "c"] { #expect(list.contains(path)) }
        for path in ["", "ab", "xa", "xb", "cc", "a\n", "c/"] { #expect(!list.contains(path)) }
        let closed = try #require(try load(["routeAllowList": []]).routeAllowList)
        #expect(!closed.contains("a"))
    }

    @Test("Accepts only PostgreSQL URIs, and directDatabaseURI only with databaseURI")
    func databases() throws {
        #expect(
            try load(["databaseURI": "postgresql://h/d?sslmode=require"]).databaseURI
                == "postgresql://h/d?sslmode=require")
        #expect(refusal(["databaseURI": "mysql://h/d"]) == "databaseURI must begin with postgres:// or postgresql://")
        #expect(
            refusal(["databaseURI": "mongodb://h/d"])
                == "databaseURI must begin with postgres:// or postgresql://. Import a MongoDB database with roost import "
                + "(docs/import.md)")
        #expect(try load(["readReplicaURI": "postgres://h/d"]).readReplicaURI == "postgres://h/d")
        let pooled: JSONObject = ["databaseURI": "postgres://pooler/d", "directDatabaseURI": "postgres://h/d"]
        #expect(try load(pooled).directDatabaseURI == "postgres://h/d")
        #expect(
            refusal(["directDatabaseURI": "postgres://h/d"]) == "directDatabaseURI requires databaseURI")
        #expect(
            refusal(["readReplicaURI": "h"]) == "readReplicaURI must begin with postgres:// or postgresql://")
        #expect(
            try load(["databaseOptions": ["poolSize": 20, "enableSchemaHooks": true]]).databaseOptions.poolSize == 20)
    }

    @Test("Adds protectedFields and userSensitiveFields to the default")
    func protectedFields() throws {
        let configuration = try load([
            "protectedFields": ["_User": ["*": ["phone", "email"], "role:Admins": []], "Song": ["*": ["price"]]],
            "userSensitiveFields": ["address"],
        ])
        #expect(configuration.protectedFields["_User"]?["*"] == ["email", "phone", "address"])
        #expect(configuration.protectedFields["_User"]?["role:Admins"] == [])
        #expect(configuration.protectedFields["Song"] == ["*": ["price"]])
    }

    @Test("Rejects security.checkGroups unless the list is empty")
    func checkGroups() throws {
        #expect(try load(["security": ["enableCheck": true, "checkGroups": []]]).security.enableCheck)
        #expect(
            refusal(["security": ["checkGroups": ["./own.js"]]])
                == "option security.checkGroups is not supported. Remove it: its checks are JavaScript classes")
    }

    @Test("Accepts unlockOnPasswordReset false, and treats a maxPasswordAge of 0 as unset")
    func unlocking() throws {
        let lockout: JSONValue = ["threshold": 3, "duration": 5, "unlockOnPasswordReset": false]
        #expect(try load(["accountLockout": lockout]).accountLockout?.threshold == 3)
        #expect(try load(["passwordPolicy": ["maxPasswordAge": 0]]).passwordPolicy?.maxPasswordAge == nil)
    }

    @Test("Reads declared classes and resolves their SQL files against the configuration's folder")
    func declaredSchemas() throws {
        #expect(try load().schema == nil)
        var configuration = try load([
            "schema": [
                "definitions": [["className": "A"], ["className": "B"]], "strict": true, "beforeMigration": "a.sql",
                "afterMigration": ["b.sql", "/c.sql"],
            ]
        ])
        configuration.resolvePaths(in: "/folder")
        let schema = try #require(configuration.schema)
        #expect(schema.definitions == [["className": "A"], ["className": "B"]])
        #expect(schema.strict)
        #expect(!schema.lockSchemas && !schema.deleteExtraFields && !schema.keepUnknownIndexes)
        #expect(schema.beforeMigration == ["/folder/a.sql"])
        #expect(schema.afterMigration == ["/folder/b.sql", "/c.sql"])
    }

    @Test("Rejects malformed and duplicate class declarations")
    func badDeclarations() {
        #expect(
            refusal(["schema": ["definitions": [["fields": [:]]]]])
                == "schema.definitions: every schema needs a className")
        #expect(
            refusal(["schema": ["definitions": [["className": "A"], ["className": "A"]]]])
                == "schema.definitions: the list contains duplicated \"className\" \"A\"")
        #expect(refusal(["schema": ["definitions": "A"]]) == "schema.definitions must be a list")
        #expect(
            refusal(["schema": ["other": true]])?.hasPrefix(
                "error: unknown option schema.other. Allowed: definitions, ")
                == true)
    }

    @Test("Reads the file adapter's folder and key, and rejects folders outside and unknown options")
    func fileAdapter() throws {
        let adapter: JSONObject = ["module": "@parse/fs-files-adapter", "options": ["filesSubDirectory": "a/b"]]
        #expect(try load(["filesAdapter": .object(adapter)]).filesDirectory == "files/a/b")
        #expect(
            refusal(["filesAdapter": ["module": "@parse/fs-files-adapter", "options": ["filesSubDirectory": "../x"]]])
                != nil)
        let encrypted: JSONObject = ["module": "@parse/fs-files-adapter", "options": ["encryptionKey": "x"]]
        #expect(try load(["filesAdapter": .object(encrypted)]).encryptionKey == "x")
        #expect(try load(["encryptionKey": "y"]).encryptionKey == "y")
        #expect(refusal(["filesAdapter": ["module": "@parse/fs-files-adapter", "options": ["other": "x"]]]) != nil)
    }

    @Test("Matches requestKeywordDenylist against keys, values or both")
    func keywords() throws {
        let defaults = try load().requestKeywordDenylist
        #expect(defaults.broken(byKey: "__proto__", value: 1) != nil)
        #expect(defaults.broken(byKey: "constructor", value: 1) != nil)
        #expect(defaults.broken(byKey: "_bsontype", value: "Code") != nil)
        #expect(defaults.broken(byKey: "_bsontype", value: "Other") == nil)
        let own = try load(["requestKeywordDenylist": [["key": "^a.*z$"], ["value": 5]]]).requestKeywordDenylist
        #expect(own.broken(byKey: "abcz", value: .null) != nil)
        #expect(own.broken(byKey: "x", value: 5) != nil)
        #expect(own.broken(byKey: "x", value: "abcz") == nil)
        let ofValues = try load(["requestKeywordDenylist": [["value": "bad"], ["key": "forbidden"]]])
            .requestKeywordDenylist
        #expect(ofValues.broken(byKey: "x", value: "a bad one") == ["value": "bad"])
        #expect(ofValues.broken(byKey: "forbidden", value: 1) == ["key": "forbidden"])
        #expect(try load(["requestKeywordDenylist": []]).requestKeywordDenylist.isEmpty)
        #expect(
            refusal(["requestKeywordDenylist": [["key": "("]]])
                == "requestKeywordDenylist must be a list of objects with valid patterns as key and value")
    }

    @Test("Every option has a unique name, a unique variable and help text")
    func table() {
        let names = OptionTable.all.map(\.name)
        #expect(Set(names).count == names.count)
        let variables = OptionTable.all.map(\.environment)
        #expect(Set(variables).count == variables.count)
        #expect(OptionTable.all.allSatisfy { !$0.help.isEmpty })
        #expect(OptionTable.find("appId")?.environment == "PARSE_SERVER_APPLICATION_ID")
        #expect(OptionTable.find("nobody") == nil)
    }
}
