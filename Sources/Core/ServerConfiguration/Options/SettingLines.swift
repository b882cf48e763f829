import JSON

extension Setting {
    /// Returns lines for the configuration file that set an option to its value. Without a value, they set it to an
    /// example, together with the options that it requires, or else to its default.
    static func lines(
        of option: OptionDefinition, _ value: JSONValue?, example: JSONValue?, defaultWords: String?
    ) -> JSONObject {
        let name = Name(option.name)
        if let value { return [name: value] }
        guard let example = examples[name] ?? example else {
            let words = defaultWords ?? "…"
            return [name: (try? option.kind.read(words, option.name)) ?? .string(words)]
        }
        var lines: JSONObject = [:]
        for other in required[option.name] ?? [] { lines[other] = examples[other] }
        lines[name] = example
        return lines
    }

    private static let required: [String: [Name]] = [
        "directDatabaseURI": ["databaseURI"], "distribution": ["databaseSchema"], "filesFallback": ["filesAdapter"],
        "emailAdapter": ["appName", "publicServerURL"],
    ]

    /// Example values by option. Words in capitals must be replaced.
    private static let examples: JSONObject = (try? JSONValue(parsing: Array(exampleText.utf8)))?.objectValue ?? [:]

    private static let exampleText = """
        {
          "preset": 9, "dataDir": "/var/lib/roost", "filesDirectory": "/var/lib/roost/files",
          "classDefinitions": "music", "passwordHashingThreads": 2, "maxReplicaLag": 1000, "indexAdvice": "tell",
          "readReplicaURI": "postgres://roost:PASSWORD@replica.example.com/roost",
          "readReplicaURIs": ["postgres://roost:PASSWORD@replica.example.com/roost"],
          "databaseURI": "postgres://roost:PASSWORD@db.example.com/roost",
          "directDatabaseURI": "postgres://roost:PASSWORD@db.example.com/roost", "databaseSchema": "app",
          "distribution": {"engine": "citus", "mode": "schema"}, "appId": "myApp",
          "serverURL": "http://localhost:1337/parse", "publicServerURL": "https://app.example.com/parse",
          "trustProxy": "127.0.0.1",
          "adminKeys": {"anna": "0000000000000000000000000000000000000000000000000000000000000000"},
          "audit": {"events": ["write", "schema", "config"]}, "allowHeaders": ["X-My-Header"],
          "protectedFields": {"Song": {"*": ["secretField"]}}, "userSensitiveFields": ["phone"], "maxLimit": 1000,
          "requestKeywordDenylist": [{"key": "_bsontype", "value": "Code"}],
          "installation": {"duplicateDeviceTokenAction": "delete"}, "schema": {"lockSchemas": false},
          "auth": {"apple": {"clientId": "com.example.app"}}, "httpsProxy": "http://proxy.example.com:3128",
          "trustedCertificates": "authority.pem", "appName": "My App", "emailVerifyTokenValidityDuration": 86400,
          "emailAdapter": {"module": "smtp", "options": {"host": "smtp.example.com", "port": 587, "secure": false,
            "from": "My App <app@example.com>", "user": "USER", "password": "PASSWORD"}},
          "pages": {"enableRouter": true}, "customPages": {"choosePassword": "https://app.example.com/choose"},
          "cloud": "cloud/main.js", "cloudApp": "app.js", "publicFolder": "public", "cloudNode": "/usr/bin/node",
          "fileDownload": {"enableForPublic": true}, "encryptionFormat": "segments",
          "filesAdapter": {"module": "@parse/s3-files-adapter", "options": {"bucket": "my-bucket",
            "region": "eu-central-1", "s3overrides": {"credentials": {"accessKeyId": "KEY_ID", "secretAccessKey": "KEY"}}}},
          "filesFallback": [{"module": "@parse/fs-files-adapter"}],
          "idempotencyOptions": {"paths": ["functions/.*"], "ttl": 300}, "requestComplexity": {"includeDepth": 10},
          "routeAllowList": ["classes/Public.*"], "rateLimitStore": "database", "console": {"enabled": true},
          "consoleFolder": "console", "startLiveQueryServer": true,
          "liveQueryServerOptions": {"websocketTimeout": 10000},
          "push": {"ios": {"token": {"key": "keys/AuthKey_ABC1234567.p8", "keyId": "ABC1234567", "teamId": "TEAM123456"},
            "topic": "com.example.app", "production": true},
            "android": {"firebaseServiceAccount": "keys/firebase.json"}}, "verbose": true,
          "logLevels": {"cloudFunctionError": "error"}, "tracingEndpoint": "http://localhost:4318",
          "tracingTracesEndpoint": "http://localhost:4318/v1/traces", "tracingHeaders": "authorization=TOKEN",
          "tracingProtocol": "http/protobuf", "tracingResource": "deployment.environment=production",
          "tracingSampler": "parentbased_traceidratio", "tracingSamplerArgument": 0.01, "tracingDisabled": true,
          "tracingTrust": "proxy", "security": {"enableCheck": true}
        }
        """
}
