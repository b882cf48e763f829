import JSON
import ServerConfiguration
import Testing

/// Loads a configuration. Adds the required keys if `file` lacks them.
func load(_ file: JSONObject = [:], environment: [String: String] = [:], flags: [String] = []) throws -> Configuration {
    var object: JSONObject = ["appId": "app", "masterKey": "master"]
    for (name, value) in file { object[name] = value }
    return try Configuration.load(file: object.serialized(), environment: environment, flags: flags).configuration
}

func told(_ file: JSONObject, environment: [String: String] = [:]) throws -> [String] {
    var object: JSONObject = ["appId": "app", "masterKey": "master"]
    for (name, value) in file { object[name] = value }
    return try Configuration.load(file: object.serialized(), environment: environment, flags: []).warnings
}

/// The error for a configuration, or nil if it is accepted.
func refusal(_ file: JSONObject = [:], environment: [String: String] = [:], flags: [String] = []) -> String? {
    do {
        _ = try load(file, environment: environment, flags: flags)
        return nil
    } catch {
        return (error as? ConfigurationError)?.message
    }
}

@Suite("Option sources")
struct ConfigurationSourceTests {
    @Test("Precedence is flags, environment, file, defaults")
    func precedence() throws {
        #expect(try load().port == 1337)
        #expect(try load(["port": 1]).port == 1)
        #expect(try load(["port": 1], environment: ["PORT": "2"]).port == 2)
        #expect(try load(["port": 1], environment: ["PORT": "2"], flags: ["--port", "3"]).port == 3)
        #expect(try load(environment: ["PORT": "2"], flags: ["--port=3"]).port == 3)
    }

    @Test("Ignores empty environment variables")
    func emptyVariable() throws {
        #expect(try load(["port": 1], environment: ["PORT": ""]).port == 1)
    }

    @Test("Treats null in the file as unset")
    func null() throws {
        #expect(try load(["port": .null, "clientKey": .null]).port == 1337)
    }

    @Test("Needs no file if environment variables or flags set the required options")
    func withoutFile() throws {
        let (fromEnvironment, _) = try Configuration.load(
            file: nil, environment: ["PARSE_SERVER_APPLICATION_ID": "a", "PARSE_SERVER_MASTER_KEY": "m"], flags: [])
        #expect(fromEnvironment.appId == "a")
        let (fromFlags, _) = try Configuration.load(
            file: nil, environment: [:], flags: ["--appId", "a", "--masterKey", "m"])
        #expect(fromFlags.masterKey == "m")
    }

    @Test("Accepts a list of exactly one app")
    func apps() throws {
        func text(_ json: String) throws -> Configuration {
            try Configuration.load(file: Array(json.utf8), environment: [:], flags: []).configuration
        }
        #expect(try text(#"{"apps":[{"appId":"a","masterKey":"m","port":5}]}"#).port == 5)
        #expect(throws: ConfigurationError.self) { try text(#"{"apps":[]}"#) }
        do {
            _ = try text(#"{"apps":[{"appId":"a","masterKey":"m"},{"appId":"b","masterKey":"m"}]}"#)
            Issue.record("two apps must be refused")
        } catch let error as ConfigurationError {
            #expect(
                error.message
                    == "Multiple apps are not supported (the configuration file). Start a server with its own file "
                    + "for each app")
        }
    }

    @Test("Rejects unknown names in the file, in flags and within objects")
    func unknownNames() {
        #expect(refusal(["prot": 1]) == "error: unknown option prot. Did you mean port?")
        #expect(refusal(["nothingLikeIt": 1]) == "error: unknown option nothingLikeIt. See roost serve --help")
        #expect(refusal(flags: ["--prot", "1"]) == "error: unknown option --prot. Did you mean --port?")
        #expect(refusal(flags: ["stray"]) == "error: unexpected argument stray")
        #expect(
            refusal(["accountLockout": ["threshold": 3, "treshold": 3, "duration": 1]])
                == "error: unknown option accountLockout.treshold. Did you mean threshold?")
        #expect(
            refusal(["fileUpload": ["enableForPublik": true]])
                == "error: unknown option fileUpload.enableForPublik. Did you mean enableForPublic?")
    }

    @Test("Presets up to 8 only warn about unknown keys in the file, but reject unknown flags")
    func unknownNamesBefore9() throws {
        let file: JSONObject = ["prot": 1, "accountLockout": ["threshold": 3, "duration": 1, "treshold": 4]]
        let warnings = [
            "option accountLockout.treshold is unknown and was ignored. Did you mean threshold?",
            "option prot is unknown and was ignored. Did you mean port?",
        ]
        #expect(try told(file.merging(["preset": 8]) { $1 }).sorted() == warnings)
        #expect(try told(file, environment: ["ROOST_PRESET": "7"]).sorted() == warnings)
        #expect(
            refusal(file.merging(["preset": 9]) { $1 })
                == "error: unknown option prot. Did you mean port?\n"
                + "error: unknown option accountLockout.treshold. Did you mean threshold?")
        #expect(
            refusal(["preset": 8], flags: ["--prot", "1"]) == "error: unknown option --prot. Did you mean --port?")
    }

    @Test("Rejects a file that isn't a JSON object and reports where the JSON is malformed")
    func badFiles() {
        for text in ["{", "[]", "5", "", "{\"appId\":}"] {
            #expect(throws: ConfigurationError.self) {
                try Configuration.load(file: Array(text.utf8), environment: [:], flags: [])
            }
        }
        do {
            _ = try Configuration.load(file: Array("{\"a\":x}".utf8), environment: [:], flags: [])
        } catch {
            #expect(
                error.message == "the configuration file is not valid JSON: unexpected character at line 1, column 6")
        }
    }

    @Test("A flag without a value turns a switch on and is rejected for other options")
    func bareFlags() throws {
        #expect(try load(flags: ["--allowCustomObjectId"]).allowCustomObjectId)
        #expect(try load(flags: ["--allowCustomObjectId", "--port", "9"]).port == 9)
        #expect(refusal(flags: ["--port"]) == "port needs a value (--port)")
    }
}

private let listOfStrings = "a list of strings, for example [\"a\", \"b\"]"
private let listOfProxies = "true, a number of proxies or a list of addresses, for example [\"10.0.0.0/8\"]"

@Suite("Option value parsing")
struct OptionParserTests {
    @Test("A switch in a variable is true only for true and 1")
    func booleans() throws {
        for (text, value) in ["true": true, "1": true, "false": false, "0": false, "yes": false, "TRUE": false] {
            #expect(try load(environment: ["PARSE_SERVER_ALLOW_CUSTOM_OBJECT_ID": text]).allowCustomObjectId == value)
        }
    }

    @Test("Rejects numbers that are malformed or out of range")
    func numbers() {
        #expect(refusal(environment: ["PORT": "x"]) == "port must be a number (PORT)")
        #expect(refusal(flags: ["--port", "70000"]) == "port must be between 1 and 65535 (--port)")
        #expect(refusal(["port": -1]) == "port must be between 1 and 65535")
        for text: JSONValue in ["80a", "", "nan", "infinity"] {
            #expect(refusal(["port": text]) == "port must be a number", "\(text)")
        }
    }

    @Test("Accepts numbers and switches in the file as strings")
    func texts() throws {
        let configuration = try load([
            "port": "80", "sessionLength": "60", "allowCustomObjectId": "true", "enforcePrivateUsers": "false",
            "accountLockout": ["threshold": "3", "duration": "5"],
        ])
        #expect(configuration.port == 80 && configuration.sessionLength == 60)
        #expect(configuration.allowCustomObjectId && !configuration.enforcePrivateUsers)
        #expect(configuration.accountLockout?.threshold == 3)
    }

    @Test("Rejects an invalid sessionLength only if sessions expire")
    func sessionLength() throws {
        for length: JSONValue in ["-33", -33, "0"] {
            let file: JSONObject = ["sessionLength": length, "expireInactiveSessions": false]
            #expect(try load(file).sessionLength == 31_536_000)
            #expect(
                refusal(["sessionLength": length]) == "Session length must be a value greater than 0.", "\(length)")
        }
    }

    @Test("Reads lists in variables as comma-separated or as JSON")
    func lists() throws {
        let name = "PARSE_SERVER_MASTER_KEY_IPS"
        #expect(
            try load(environment: [name: "10.0.0.1, 10.0.0.0/8 ,::1"]).masterKeyIps == [
                "10.0.0.1", "10.0.0.0/8", "::1",
            ])
        #expect(try load(environment: [name: #"["10.0.0.1"]"#]).masterKeyIps == ["10.0.0.1"])
        #expect(try load(["masterKeyIps": []]).masterKeyIps == [])
    }

    @Test("Reads objects in variables as JSON and rejects other values")
    func objects() throws {
        let name = "PARSE_SERVER_ACCOUNT_LOCKOUT"
        let lockout = try load(environment: [name: #"{"threshold":3,"duration":5}"#]).accountLockout
        #expect(lockout?.threshold == 3)
        #expect(lockout?.duration == 5)
        #expect(refusal(environment: [name: "x"]) == "accountLockout must be a JSON object (\(name))")
        #expect(refusal(environment: [name: "[1]"]) == "accountLockout must be a JSON object (\(name))")
    }

    @Test("Rejects values of the wrong type by option name")
    func kinds() {
        #expect(refusal(["clientKey": 5]) == "clientKey must be a string")
        #expect(
            refusal(["masterKeyIps": "::1"]) == "masterKeyIps must be a list of strings, for example [\"a\", \"b\"]")
        #expect(refusal(["allowCustomObjectId": "yes"]) == "allowCustomObjectId must be true or false")
        #expect(refusal(["metrics": true]) == "metrics must be an object, for example {\"port\": 9464}")
        #expect(
            refusal(["passwordPolicy": ["maxPasswordAge": "x"]])
                == "passwordPolicy.maxPasswordAge must be a number")
    }

    @Test(
        "Reads sizes with and without units",
        arguments: [
            ("20mb", 20_971_520), ("512kb", 524_288), ("1048576", 1_048_576), ("1.5mb", 1_572_864),
            ("1gb", 1_073_741_824),
            ("10 MB", 10_485_760), ("100b", 100), ("0", 0),
        ])
    func sizes(text: String, bytes: Int) throws {
        #expect(try load(["maxUploadSize": .string(text)]).maxUploadSize == bytes)
    }

    @Test("Rejects malformed sizes", arguments: ["x", "mb", "-1mb", "1qb", "1e400", "nan", "inf"])
    func badSizes(text: String) {
        #expect(refusal(["maxUploadSize": .string(text)]) == "maxUploadSize must be a size such as 20mb")
    }

    @Test("Reads sizes as numbers of bytes and caps them at 2^50")
    func numericSizes() throws {
        #expect(try load(["maxUploadSize": 1_048_576]).maxUploadSize == 1_048_576)
        #expect(try load(["maxUploadSize": 1000.5]).maxUploadSize == 1000)
        #expect(try load(["maxResponseSize": 2048, "transferMemory": 4096]).maxResponseSize == 2048)
        #expect(try load(["maxResponseSize": 2048, "transferMemory": 4096]).transferMemory == 4096)
        #expect(try load(environment: ["PARSE_SERVER_MAX_UPLOAD_SIZE": "2048"]).maxUploadSize == 2048)
        for size: JSONValue in [1e18, 1e300, "8000000tb"] {
            #expect(try load(["maxUploadSize": size]).maxUploadSize == 1 << 50)
        }
        #expect(refusal(["maxUploadSize": -1]) == "maxUploadSize must be a size such as 20mb")
        #expect(refusal(["maxResponseSize": 5]) == "maxResponseSize must be a size such as 20mb, at least 1024 bytes")
        #expect(refusal(["maxUploadSize": true]) == "maxUploadSize must be a string or a number")
    }

    @Test("Reads trustProxy as a switch, a number of hops or addresses")
    func proxies() throws {
        #expect(try load().trustProxy == .noProxy)
        #expect(try load(["trustProxy": true]).trustProxy == .everybody)
        #expect(try load(["trustProxy": false]).trustProxy == .noProxy)
        #expect(try load(["trustProxy": 2]).trustProxy == .hops(2))
        #expect(try load(["trustProxy": 100]).trustProxy == .hops(100))
        #expect(
            try load(["trustProxy": "::1, 10.0.0.1"]).trustProxy == .addresses(try AddressList(["::1", "10.0.0.1"])))
        #expect(try load(["trustProxy": ["10.0.0.0/8"]]).trustProxy == .addresses(try AddressList(["10.0.0.0/8"])))
        #expect(try load(environment: ["PARSE_SERVER_TRUST_PROXY": "1"]).trustProxy == .hops(1))
        #expect(try load(environment: ["PARSE_SERVER_TRUST_PROXY": "true"]).trustProxy == .everybody)
        #expect(
            try load(environment: ["PARSE_SERVER_TRUST_PROXY": "10.0.0.1"]).trustProxy
                == .addresses(try AddressList(["10.0.0.1"])))
    }

    @Test(
        "Rejects lists with invalid elements",
        arguments: [
            (["idempotencyOptions": ["paths": ["a", 1]]], "idempotencyOptions.paths must be \(listOfStrings)"),
            (["fileUpload": ["fileExtensions": [nil]]], "fileUpload.fileExtensions must be \(listOfStrings)"),
            (
                ["fileUpload": ["allowedFileUrlDomains": [["a.example"]]]],
                "fileUpload.allowedFileUrlDomains must be \(listOfStrings)"
            ),
            (["trustProxy": ["10.0.0.1", 2]], "trustProxy must be \(listOfProxies)"),
            (
                ["trustProxy": ["10.0.0.1", "proxy"]],
                "The Parse Server option \"trustProxy\" contains an invalid IP address \"proxy\"."
            ),
            (["trustProxy": ["hops": 2]], "trustProxy must be \(listOfProxies)"),
            (["masterKeyIps": [true]], "masterKeyIps must be \(listOfStrings)"),
            (["allowHeaders": [5]], "allowHeaders must be \(listOfStrings)"),
            (["allowOrigin": ["*", 5]], "allowOrigin must be a string or a list of strings"),
            (["userSensitiveFields": [5]], "userSensitiveFields must be \(listOfStrings)"),
            (
                ["schema": ["beforeMigration": ["a", 5]]],
                "schema.beforeMigration must be a string or a list of strings"
            ),
            (
                ["requestKeywordDenylist": ["a"]],
                "requestKeywordDenylist must be a list of objects with valid patterns as key and value"
            ),
        ] as [(JSONObject, String)])
    func elements(file: JSONObject, expected: String) {
        #expect(refusal(file) == expected)
    }

    @Test("Reads allowOrigin as one origin or a list")
    func origins() throws {
        #expect(try load(["allowOrigin": "https://a.example"]).allowOrigin == ["https://a.example"])
        #expect(try load(["allowOrigin": ["https://a.example", "https://b.example"]]).allowOrigin.count == 2)
        #expect(try load().allowOrigin == ["*"])
    }

    @Test("Reads admin key hashes and audit events, and rejects bad hashes, reserved names and unknown events")
    func audit() throws {
        let sum = String(repeating: "0F", count: 32)
        let audit = try load(["adminKeys": ["anna": .string(sum)], "audit": ["events": ["write", "role"]]]).audit
        #expect(audit.adminKeys == ["anna": [UInt8](repeating: 15, count: 32)])
        #expect(audit.events == [.write, .role])
        for wrong in [
            ["adminKeys": ["anna": "key"]], ["adminKeys": ["anna": .string("+" + sum.dropFirst())]],
            ["adminKeys": ["masterKey": .string(sum)]], ["adminKeys": ["maintenanceKey": .string(sum)]],
            ["audit": ["events": ["reads"]]],
        ] as [JSONObject] {
            #expect(throws: ConfigurationError.self) { try load(wrong) }
        }
    }
}
