import JSON
import ServerConfiguration
import Testing

@Suite("Configuration errors")
struct ConfigurationMistakeTests {
    private static func message(
        _ file: String, environment: [String: String] = [:], flags: [String] = []
    ) -> String? {
        do {
            _ = try Configuration.load(
                file: Array(file.utf8), fileName: "roost.json", environment: environment, flags: flags)
            return nil
        } catch {
            return error.message
        }
    }

    @Test("Reports all mistakes at once, each with its file, variable or flag")
    func together() throws {
        let file = """
            {"appId": 5, "masterKey": "m", "prot": 1, "metrics": true, "sessionLength": -1, "logLevel": "loud",
             "accountLockout": {"treshold": 3, "threshold": 0, "duration": 5}, "objectIdSize": 500,
             "publicServerURL": "a.example", "databaseAdapter": "x"}
            """
        let message = try #require(
            Self.message(file, environment: ["PARSE_SERVER_DEFAULT_LIMIT": "x"], flags: ["--maxLimit", "0"]))
        #expect(
            Set(message.split(separator: "\n").map(String.init)) == [
                "appId must be a string (roost.json)",
                "error: unknown option prot (roost.json). Did you mean port?",
                "metrics must be an object, for example {\"port\": 9464} (roost.json)",
                "Session length must be a value greater than 0 (roost.json).",
                "logLevel must be one of error, warn, info, verbose, debug, silly, silent (roost.json)",
                "error: unknown option accountLockout.treshold (roost.json). Did you mean threshold?",
                "Account lockout threshold should be an integer greater than 0 and less than 1000 (roost.json)",
                "objectIdSize must be between 1 and 120 (roost.json)",
                "publicServerURL should be a valid URL starting with https:// or http:// (roost.json)",
                "databaseAdapter is not supported (roost.json). Remove it: Roost runs on PostgreSQL; see databaseURI",
                "defaultLimit must be a number (PARSE_SERVER_DEFAULT_LIMIT)",
                "maxLimit must be a number of at least 1 (--maxLimit)",
            ])
    }

    @Test("Reports options that can't be combined together with invalid values")
    func combinations() throws {
        let file = """
            {"appId": "a", "masterKey": "m", "readOnlyMasterKey": "m", "maintenanceKey": "m", "port": "x",
             "directDatabaseURI": "postgres://h/d", "verifyUserEmails": true, "appName": 5,
             "passwordPolicy": {"resetTokenReuseIfValid": true}, "readOnly": true, "rateLimitStore": "database",
             "liveQuery": {"classNames": ["Song"]}, "liveQueryServerOptions": {"port": 1400, "appId": "b"},
             "console": {"path": "/parse", "signIn": "thisMachine"},
             "distribution": {"engine": "citus", "mode": "schema"}}
            """
        let message = try #require(Self.message(file))
        #expect(
            Set(message.split(separator: "\n").map(String.init)) == [
                "masterKey and readOnlyMasterKey should be different (roost.json)",
                "masterKey and maintenanceKey should be different (roost.json)",
                "port must be a number (roost.json)",
                "directDatabaseURI requires databaseURI (roost.json)",
                "An emailAdapter is required for e-mail verification and password resets (roost.json).",
                "A public server url is required for e-mail verification and password resets (roost.json).",
                "appName must be a string (roost.json)",
                "You cannot use resetTokenReuseIfValid without resetTokenValidityDuration (roost.json)",
                "readOnly can't be combined with rateLimitStore, which writes to the database (roost.json)",
                "readOnly can't be combined with liveQuery, which writes to the database (roost.json)",
                "option console.path can't be at or above mountPath (/parse) (roost.json)",
                "distribution.mode \"schema\" requires databaseSchema, the schema of the app (roost.json)",
            ])
    }

    @Test("A read-only server rejects live queries and names the option that enables them")
    func readOnlyLiveQueries() {
        for (options, name) in [
            (["liveQuery": ["classNames": ["Song"]], "startLiveQueryServer": false], "liveQuery"),
            (["liveQueryServerOptions": [:]], "startLiveQueryServer or liveQueryServerOptions"),
        ] as [(JSONObject, String)] {
            #expect(
                refusal(options.merging(["readOnly": true]) { $1 })
                    == "readOnly can't be combined with \(name), which writes to the database")
        }
    }

    @Test("Rejects a metrics port that equals the server's, unless the addresses differ")
    func metricsPort() {
        let text = "metrics.port must differ from port, for example 9464"
        for host in ["0.0.0.0", "127.0.0.1"] {
            #expect(refusal(["port": 1400, "host": .string(host), "metrics": ["port": 1400]]) == text)
        }
        for (host, other) in [("10.0.0.1", "127.0.0.1"), ("127.0.0.1", "127.0.0.2"), ("0.0.0.0", "::1")] {
            #expect(
                refusal(["port": 1400, "host": .string(host), "metrics": ["port": 1400, "host": .string(other)]]) == nil
            )
        }
        #expect(refusal(["port": 0, "metrics": ["port": 0]]) == nil)
    }

    @Test("An invalid option causes no further errors for options that depend on it")
    func noFollowingMistakes() {
        #expect(
            Self.message(
                #"{"appId": "a", "masterKey": "m", "databaseURI": "h", "directDatabaseURI": "postgres://h/d"}"#)
                == "databaseURI must begin with postgres:// or postgresql:// (roost.json)")
        #expect(
            Self.message(
                #"{"appId": "a", "masterKey": "m", "passwordPolicy": {"resetTokenValidityDuration": 0, "#
                    + #""resetTokenReuseIfValid": true}}"#)
                == "passwordPolicy.resetTokenValidityDuration must be a positive number (roost.json)")
    }

    @Test("Reports all invalid members of an option, each with the file")
    func members() throws {
        let file = """
            {"appId": "a", "masterKey": "m",
             "passwordPolicy": {"maxPasswordAge": -1, "maxPasswordHistory": 99, "validatorPattern": "("}}
            """
        let message = try #require(Self.message(file))
        #expect(
            Set(message.split(separator: "\n").map(String.init)) == [
                "passwordPolicy.maxPasswordAge must be a positive number (roost.json)",
                "passwordPolicy.maxPasswordHistory must be an integer ranging 0 - 20 (roost.json)",
                "passwordPolicy.validatorPattern must be a regex string or RegExp object (roost.json).",
            ])
    }

    @Test("Reports all invalid flags without repeating stray arguments")
    func flags() throws {
        let message = try #require(
            Self.message(
                #"{"masterKey": "m"}"#,
                flags: ["--prot", "1", "--appId", "my", "Swordfish", "app", "--maxLimit", "x", "--preset=3", "--port"]))
        #expect(
            message.split(separator: "\n").map(String.init) == [
                "error: unknown option --prot. Did you mean --port?",
                "error: unexpected argument after the value of --appId. Quote values that contain spaces",
                "maxLimit must be a number (--maxLimit)", "port needs a value (--port)",
                "preset must be between 4 and 9 (--preset)",
            ])
    }

    @Test("Ignores an invalid value that a variable or flag overrides")
    func overridden() {
        let file = #"{"appId": "a", "masterKey": "m", "port": "x"}"#
        #expect(Self.message(file, flags: ["--port", "y"]) == "port must be a number (--port)")
        #expect(Self.message(file, environment: ["PORT": "y"]) == "port must be a number (PORT)")
        #expect(Self.message(file, environment: ["PORT": "1400"]) == nil)
        #expect(Self.message(file, flags: ["--port", "1400"]) == nil)
    }

    @Test("Adds the file name after the whole sentence, not after an abbreviation")
    func sentences() {
        #expect(
            Self.message(#"{"appId": "a", "masterKey": "m", "filesAdapter": {"module": "s3", "options": {}}}"#)
                == "S3Adapter requires option 'bucket' or env. variable S3_BUCKET (roost.json)")
    }

    @Test("Reports a missing key together with other mistakes")
    func missingKeys() throws {
        let message = try #require(Self.message(#"{"appId": "a", "port": 99999}"#))
        #expect(
            message.hasPrefix("port must be between 1 and 65535 (roost.json)\nERROR: masterKey is required"))
    }

    @Test("Reports malformed JSON by line and column, counted in characters")
    func malformed() {
        #expect(
            Self.message("{\n  \"appId\": \"ä\" \"masterKey\"}")?.hasSuffix(" at line 2, column 16") == true)
        #expect(Self.message("[1]") == "roost.json must contain a JSON object, for example {\"appId\": \"myApp\"}")
    }

    @Test(
        "Error messages never contain secret values",
        arguments: [
            ([:], ["--masterKy=Swordfish"]), ([:], ["--masterKey", "pass", "Swordfish"]),
            ([:], ["--port", "Swordfish"]), (["PARSE_SERVER_ACCOUNT_LOCKOUT": "Swordfish"], []),
            (["PARSE_SERVER_DATABASE_URI": "mongodb://u:Swordfish@h/d"], []),
            (["PARSE_SERVER_DATABASE_URI": "postgres://u:a/Swordfish@h/d"], []),
            (["PARSE_SERVER_DATABASE_URI": "postgres://u:a@Swordfish@h/d"], []),
            (["PARSE_SERVER_DATABASE_URI": "postgres://u:Swordfish/x@h/d"], []),
            (["PARSE_SERVER_DATABASE_URI": "postgres://u:Swordfish@h/d?ssl=true"], []),
        ] as [([String: String], [String])])
    func secrets(environment: [String: String], flags: [String]) throws {
        let message = try #require(
            Self.message(#"{"appId": "a", "masterKey": "m"}"#, environment: environment, flags: flags))
        #expect(!message.contains("Swordfish"), "\(message)")
        let file = #"{"appId": "a", "masterKey": ["Swordfish"], "push": "Swordfish", "restAPIKey": {"a": "Swordfish"}}"#
        #expect(Self.message(file)?.contains("Swordfish") == false)
    }

    @Test(
        "Rejects node-postgres parameters and suggests their libpq equivalents",
        arguments: [
            ("ssl=true", "sslmode=require"), ("ssl=false", "sslmode=disable"),
            ("sslmode=require&rejectUnauthorized=false", "sslmode=require"),
            ("max=20", "databaseOptions.poolSize"), ("poolSize=20", "databaseOptions.poolSize"),
            ("connectionTimeoutMillis=5", "connect_timeout"), ("idleTimeoutMillis=5", "Remove it"),
        ])
    func foreignParameters(query: String, advice: String) throws {
        for option in ["databaseURI", "readReplicaURI"] {
            let message = try #require(refusal([Name(option): .string("postgres://h/d?\(query)")]))
            #expect(message.hasPrefix("\(option) contains the unsupported parameter "), "\(message)")
            #expect(message.contains(advice), "\(message)")
        }
    }

    @Test(
        "Accepts libpq URIs unchanged",
        arguments: [
            "postgres://u:p%40%2F@h:5432/d", "postgres:///d?host=/run/postgresql",
            "postgresql://h1:1,h2:2/d?sslmode=require",
            "postgres://u@[::1]:5432/d", "postgres://[::1]/d", "postgres://%2Frun%2Fpostgresql/d", "postgres://",
            "postgres://u:p@/d", "postgres://h", "postgres://u:@h:/d?application_name=a@b/c",
        ])
    func addresses(uri: String) throws {
        #expect(try load(["databaseURI": .string(uri)]).databaseURI == uri)
    }

    @Test("silent doesn't change logLevel")
    func silent() throws {
        let configuration = try load(["silent": true, "logLevel": "warn"])
        #expect(configuration.silent && configuration.logLevel == "warn")
        #expect(!(try load(["silent": false]).silent))
    }
}
