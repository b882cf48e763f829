import JSON
import ServerConfiguration
import Testing

@Suite("Environment variables for members of object options")
struct MemberVariableTests {
    @Test("Reads members from variables with parse-server's names")
    func members() throws {
        let configuration = try load(environment: [
            "PARSE_SERVER_ACCOUNT_LOCKOUT_DURATION": "5", "PARSE_SERVER_ACCOUNT_LOCKOUT_THRESHOLD": "3",
            "PARSE_SERVER_ACCOUNT_LOCKOUT_UNLOCK_ON_PASSWORD_RESET": "true",
            "PARSE_SERVER_CUSTOM_PAGES_PARSE_FRAME_URL": "https://w.example/f",
            "PARSE_SERVER_DATABASE_ALLOW_PUBLIC_EXPLAIN": "1", "PARSE_SERVER_DATABASE_SCHEMA_CACHE_TTL": "100",
            "PARSE_SERVER_EXPERIMENTAL_IDEMPOTENCY_PATHS": "functions/a, functions/b",
            "PARSE_SERVER_EXPERIMENTAL_IDEMPOTENCY_TTL": "60",
            "PARSE_SERVER_FILE_DOWNLOAD_ENABLE_FOR_PUBLIC": "false",
            "PARSE_SERVER_FILE_UPLOAD_ENABLE_FOR_PUBLIC": "true",
            "PARSE_SERVER_FILE_UPLOAD_FILE_EXTENSIONS": #"["png","jpe?g"]"#,
            "PARSE_SERVER_INSTALLATION_DUPLICATE_DEVICE_TOKEN_ACTION": "update",
            "PARSE_SERVER_LIVEQUERY_CLASSNAMES": "Song,Album",
            "PARSE_SERVER_PAGES_FORCE_REDIRECT": "true", "PARSE_SERVER_PAGES_PAGES_ENDPOINT": "acc",
            "PARSE_SERVER_PAGES_CUSTOM_URL_PASSWORD_RESET": "https://w.example/r",
            "PARSE_SERVER_PASSWORD_POLICY_MAX_PASSWORD_HISTORY": "4",
            "PARSE_SERVER_REQUEST_COMPLEXITY_INCLUDE_DEPTH": "6",
            "PARSE_SERVER_REQUEST_COMPLEXITY_GRAPHQL_DEPTH": "6",
            "PARSE_SERVER_SCHEMA_LOCK_SCHEMAS": "true", "PARSE_SERVER_SCHEMA_DEFINITIONS": #"[{"className":"A"}]"#,
            "PARSE_SERVER_SECURITY_ENABLE_CHECK": "true",
        ])
        #expect(configuration.accountLockout?.duration == 5 && configuration.accountLockout?.threshold == 3)
        #expect(configuration.accountLockout?.unlockOnPasswordReset == true)
        #expect(configuration.customPages.parseFrameURL == "https://w.example/f")
        #expect(configuration.databaseOptions.allowPublicExplain)
        #expect(configuration.databaseOptions.schemaCacheTtl == 100)
        #expect(configuration.idempotencyOptions.paths == ["functions/a", "functions/b"])
        #expect(configuration.idempotencyOptions.ttl == 60)
        #expect(!configuration.fileDownload.enableForPublic && configuration.fileUpload.callers.enableForPublic)
        #expect(configuration.fileUpload.fileExtensions == ["png", "jpe?g"])
        #expect(configuration.installation.action == .update)
        #expect(configuration.liveQuery.classNames == ["Song", "Album"])
        #expect(configuration.pages.forceRedirect && configuration.pages.pagesEndpoint == "acc")
        #expect(configuration.pages.customUrls == ["passwordReset": "https://w.example/r"])
        #expect(configuration.passwordPolicy?.maxPasswordHistory == 4)
        #expect(configuration.requestComplexity.includeDepth == 6)
        #expect(configuration.schema?.lockSchemas == true && configuration.schema?.definitions.count == 1)
        #expect(configuration.security.enableCheck)
    }

    @Test("Overrides only its member in the option's variable or in the file, and yields to a flag")
    func precedence() throws {
        let file: JSONObject = ["accountLockout": ["threshold": 1, "duration": 1]]
        let member = ["PARSE_SERVER_ACCOUNT_LOCKOUT_DURATION": "7"]
        let lockout = try load(file, environment: member).accountLockout
        #expect(lockout?.threshold == 1 && lockout?.duration == 7)
        let own = member.merging(["PARSE_SERVER_ACCOUNT_LOCKOUT": #"{"threshold":2,"duration":2}"#]) { $1 }
        let outweighed = try load(file, environment: own).accountLockout
        #expect(outweighed?.threshold == 2 && outweighed?.duration == 7)
        let flag = ["--accountLockout", #"{"threshold":3,"duration":3}"#]
        #expect(try load(file, environment: own, flags: flag).accountLockout?.duration == 3)
        let empty = ["PARSE_SERVER_ACCOUNT_LOCKOUT_DURATION": ""]
        #expect(try load(file, environment: empty).accountLockout?.duration == 1)
        #expect(
            refusal(["accountLockout": 5], environment: member)?.hasPrefix("accountLockout must be an object") == true)
    }

    @Test("Rate-limit variables add one limit to those in the file")
    func limits() throws {
        let limit: JSONValue = ["requestPath": "/a", "requestTimeWindow": 1000, "requestCount": 5]
        let variables = [
            "PARSE_SERVER_RATE_LIMIT_REQUEST_PATH": "/b", "PARSE_SERVER_RATE_LIMIT_REQUEST_TIME_WINDOW": "1000",
            "PARSE_SERVER_RATE_LIMIT_REQUEST_COUNT": "6", "PARSE_SERVER_RATE_LIMIT_REQUEST_METHODS": "POST,PUT",
            "PARSE_SERVER_RATE_LIMIT_INCLUDE_MASTER_KEY": "true",
        ]
        let cases: [(given: JSONValue, counts: [Int])] = [
            (.null, [6]), (limit, [5, 6]), (.array([limit, limit]), [5, 5, 6]),
        ]
        for (given, counts) in cases {
            let file: JSONObject = ["rateLimit": given, "accountRateLimit": false]
            let limits = try load(file, environment: variables).rateLimits
            #expect(limits.map(\.count) == counts)
            #expect(limits.last?.methods == ["POST", "PUT"] && limits.last?.includesMasterKey == true)
        }
    }

    @Test(
        "Rejects invalid values by the member's name",
        arguments: [
            (
                ["PARSE_SERVER_ACCOUNT_LOCKOUT_DURATION": "x"],
                "accountLockout.duration must be a number (PARSE_SERVER_ACCOUNT_LOCKOUT_DURATION)"
            ),
            (
                ["PARSE_SERVER_FILE_UPLOAD_FILE_EXTENSIONS": "[1]"],
                "fileUpload.fileExtensions must be a list of strings"
            ),
        ] as [([String: String], String)])
    func refusals(environment: [String: String], text: String) {
        #expect(refusal(environment: environment)?.hasPrefix(text) == true)
    }

    @Test("Warns about variables whose members have no effect")
    func withoutEffect() throws {
        let warnings = try told([:], environment: ["PARSE_SERVER_DATABASE_RETRY_WRITES": "true"])
        #expect(warnings.map { $0.hasPrefix("option databaseOptions.retryWrites has no effect") } == [true])
    }

    @Test(
        "Ignores incomplete sets of variables with a warning, and variables that parse-server never reads",
        arguments: [
            (["PARSE_SERVER_SCHEMA_LOCK_SCHEMAS": "false", "PARSE_SERVER_SCHEMA_STRICT": "true"], true),
            (["PARSE_SERVER_ACCOUNT_LOCKOUT_UNLOCK_ON_PASSWORD_RESET": "true"], true),
            (["PARSE_SERVER_ACCOUNT_LOCKOUT_DURATION": "5"], true),
            (["PARSE_SERVER_RATE_LIMIT_INCLUDE_MASTER_KEY": "true"], true),
            (["PARSE_SERVER_RATE_LIMIT_REDIS_URL": "redis://h"], false),
            (["PARSE_LIVE_QUERY_SERVER_PORT": "tcp://10.0.0.7:1337", "PARSE_LIVE_QUERY_SERVER_LOG_LEVEL": "x"], false),
            (["PARSE_SERVER_LIVEQUERY_WSS_ADAPTER": "x", "PARSE_SERVER_LIVEQUERY_PUB_SUB_ADAPTER": "x"], false),
            (["PARSE_SERVER_PAGES_ROUTE_PATH": "x", "PARSE_SERVER_SECURITY_CHECK_GROUPS": "x"], false),
            (["PARSE_SERVER_PASSWORD_POLICY_VALIDATOR_CALLBACK": "x"], false),
        ] as [([String: String], Bool)])
    func declaredOnly(environment: [String: String], isTold: Bool) throws {
        let configuration = try load(environment: environment)
        #expect(
            configuration.schema == nil && configuration.accountLockout == nil && configuration.passwordPolicy == nil)
        #expect(!configuration.liveQuery.isServed)
        #expect(configuration.rateLimits.count == (try load()).rateLimits.count)
        let warnings = try told([:], environment: environment)
        #expect(warnings.contains { $0.contains("have no effect without PARSE_SERVER_") } == isTold, "\(warnings)")
        let limit: JSONObject = ["rateLimit": ["requestPath": "/a", "requestTimeWindow": 1000, "requestCount": 5]]
        #expect(try load(limit, environment: environment).rateLimits.count == (try load(limit)).rateLimits.count)
    }

    @Test("Every variable is unique and belongs to an existing option")
    func names() {
        let names = MemberVariables.all.flatMap(\.names)
        #expect(Set(names).count == names.count)
        #expect(Set(names).isDisjoint(with: OptionTable.all.map(\.environment)))
        #expect(MemberVariables.all.allSatisfy { !$0.members.isEmpty && OptionTable.find($0.path[0]) != nil })
    }
}
