import JSON
import ServerConfiguration
import Testing

@Suite("Option ranges")
struct OptionRangeTests {
    private static let smtp: JSONValue = ["module": "smtp", "options": ["host": "h", "from": "a@b.c"]]

    @Test(
        "Rejects values that are out of range, malformed or incomplete",
        arguments: [
            (["sessionLength": 0], "Session length must be a value greater than 0."),
            (["sessionLength": -5, "expireInactiveSessions": true], "Session length must be a value greater than 0."),
            (
                ["accountLockout": ["threshold": 0, "duration": 1]],
                "Account lockout threshold should be an integer greater than 0 and less than 1000"
            ),
            (
                ["accountLockout": ["threshold": 1000, "duration": 1]],
                "Account lockout threshold should be an integer greater than 0 and less than 1000"
            ),
            (
                ["accountLockout": ["threshold": 2.5, "duration": 1]],
                "Account lockout threshold should be an integer greater than 0 and less than 1000"
            ),
            (
                ["accountLockout": ["threshold": 1]],
                "Account lockout duration should be greater than 0 and less than 100000"
            ),
            (
                ["accountLockout": ["threshold": 1, "duration": 100_000]],
                "Account lockout duration should be greater than 0 and less than 100000"
            ),
            (
                ["passwordPolicy": ["maxPasswordHistory": 21]],
                "passwordPolicy.maxPasswordHistory must be an integer ranging 0 - 20"
            ),
            (
                ["passwordPolicy": ["maxPasswordHistory": 1.5]],
                "passwordPolicy.maxPasswordHistory must be an integer ranging 0 - 20"
            ),
            (["passwordPolicy": ["maxPasswordAge": -100]], "passwordPolicy.maxPasswordAge must be a positive number"),
            (
                ["passwordPolicy": ["resetTokenValidityDuration": -1]],
                "passwordPolicy.resetTokenValidityDuration must be a positive number"
            ),
            (
                ["passwordPolicy": ["resetTokenValidityDuration": 0]],
                "passwordPolicy.resetTokenValidityDuration must be a positive number"
            ),
            (
                ["passwordPolicy": ["maxPasswordHistory": -1]],
                "passwordPolicy.maxPasswordHistory must be an integer ranging 0 - 20"
            ),
            (
                ["passwordPolicy": ["resetTokenReuseIfValid": true]],
                "You cannot use resetTokenReuseIfValid without resetTokenValidityDuration"
            ),
            (
                ["verifyUserEmails": true],
                "An emailAdapter is required for e-mail verification and password resets.\n"
                    + "An app name is required for e-mail verification and password resets.\n"
                    + "A public server url is required for e-mail verification and password resets."
            ),
            (
                ["verifyUserEmails": true, "emailAdapter": Self.smtp, "publicServerURL": "https://a.example/parse"],
                "An app name is required for e-mail verification and password resets."
            ),
            (
                ["verifyUserEmails": true, "emailAdapter": Self.smtp, "appName": "a"],
                "A public server url is required for e-mail verification and password resets."
            ),
            (
                ["emailVerifyTokenValidityDuration": 0],
                "Email verify token validity duration must be a value greater than 0."
            ),
            (
                ["emailVerifyTokenReuseIfValid": true],
                "You cannot use emailVerifyTokenReuseIfValid without emailVerifyTokenValidityDuration"
            ),
            (
                ["emailAdapter": ["module": "smtp", "options": ["host": "h", "from": "nobody"]]],
                "option emailAdapter.options.from is not an email address"
            ),
            (
                ["emailAdapter": ["module": "smtp", "options": ["host": "h\r\n", "from": "a@b.c"]]],
                "option emailAdapter.options.host must be a non-empty string without control characters"
            ),
            (
                ["emailAdapter": ["module": "smtp", "options": ["host": "h", "from": "a@b.c", "port": 0]]],
                "option emailAdapter.options.port must be a port from 1 to 65535"
            ),
            (
                ["emailAdapter": ["module": "smtp", "options": ["host": "h", "from": "a@b.c", "tls": true]]],
                "error: unknown option emailAdapter.options.tls"
            ),
            (["databaseOptions": ["poolSize": -5]], "databaseOptions.poolSize must be between 1 and 1000"),
            (["databaseOptions": ["max": 0]], "databaseOptions.max must be between 1 and 1000"),
            (["databaseOptions": ["heavyStatements": 0]], "databaseOptions.heavyStatements must be between 1 and 1000"),
            (
                ["databaseOptions": ["schemaCacheTtl": "x"]],
                "databaseOptions.schemaCacheTtl must be a number"
            ),
            (
                ["requestComplexity": ["graphQLDepth": 0]],
                "requestComplexity.graphQLDepth must be a positive integer or -1 to disable."
            ),
            (["passwordHashingThreads": 0], "passwordHashingThreads must be between 1 and 1024"),
            (["passwordHashingQueue": 0], "passwordHashingQueue must be between 1 and 1000000"),
            (
                ["passwordPolicy": ["validatorPattern": "("]],
                "passwordPolicy.validatorPattern must be a regex string or RegExp object."
            ),
            (["idempotencyOptions": ["ttl": 0]], "idempotency TTL value must be greater than 0 seconds"),
            (
                ["requestComplexity": ["includeDepth": 0]],
                "requestComplexity.includeDepth must be a positive integer or -1 to disable."
            ),
            (["protectedFields": ["Song": ["x"]]], "option protectedFields.Song must be an object of field lists"),
            (
                ["protectedFields": ["Song": ["*": "x"]]],
                "option protectedFields.Song must be an object of field lists"
            ),
            (
                ["logLevel": "warning"],
                "logLevel must be one of error, warn, info, verbose, debug, silly, silent"
            ),
            (["defaultLimit": 0], "defaultLimit must be a number of at least 1"),
            (["maxLimit": -1], "maxLimit must be a number of at least 1"),
            (
                ["filesAdapter": "@parse/s3-file-adapter"],
                "option filesAdapter: unknown module @parse/s3-file-adapter. Did you mean @parse/s3-files-adapter?"
            ),
        ] as [(JSONObject, String)])
    func ranges(file: JSONObject, expected: String) {
        #expect(refusal(file) == expected)
    }

    @Test("Accepts session lengths of 100 years and caps lifetimes at 1,000 years")
    func longTimes() throws {
        #expect(try load(["sessionLength": 3_155_760_000]).sessionLength == 3_155_760_000)
        #expect(try load(["sessionLength": 0.5]).sessionLength == 1)
        for length: JSONValue in [1e12, 1e300] {
            let configuration = try load(["sessionLength": length, "idempotencyOptions": ["ttl": length]])
            #expect(configuration.sessionLength == 31_557_600_000)
            #expect(configuration.idempotencyOptions.ttl == 31_557_600_000)
        }
    }

    @Test("Accepts limits beyond 32 bits and object ids of up to 120 characters")
    func largeNumbers() throws {
        #expect(try load(["defaultLimit": 5_000_000]).defaultLimit == 5_000_000)
        #expect(try load(["maxLimit": 5_000_000_000]).maxLimit == 5_000_000_000)
        #expect(refusal(["defaultLimit": 1e300]) == "defaultLimit must be a number of at least 1")
        #expect(try load(["objectIdSize": 120]).objectIdSize == 120)
        #expect(refusal(["objectIdSize": 121]) == "objectIdSize must be between 1 and 120")
    }

    @Test("-1 disables a limit of requestComplexity")
    func noLimits() throws {
        let limits = try load(["requestComplexity": ["includeDepth": -1, "queryDepth": 5]]).requestComplexity
        #expect(limits.includeDepth == nil)
        #expect(limits.queryDepth == 5)
        #expect(limits.allowRegex)
    }

    @Test("Looks for changed classes at most ten times a second")
    func checkInterval() throws {
        for (given, interval) in [(0, 100), (99, 100), (250, 250)] as [(JSONValue, Int)] {
            let file = JSONValue.object(["appId": "a", "masterKey": "m", "databaseOptions": ["schemaCacheTtl": given]])
            let (configuration, _) = try Configuration.load(file: file.serialized(), environment: [:], flags: [])
            #expect(configuration.databaseOptions.schemaCacheTtl == interval)
        }
    }
}
