import JSON
import ServerConfiguration
import Testing

@Suite("Metrics and log options")
struct MonitoringOptionTests {
    private static func load(
        _ options: JSONObject, _ environment: [String: String] = [:]
    ) throws(ConfigurationError) -> Configuration {
        try read(options, environment).configuration
    }

    private static func read(
        _ options: JSONObject, _ environment: [String: String] = [:]
    ) throws(ConfigurationError) -> (configuration: Configuration, warnings: [String]) {
        let file: JSONObject = ["appId": "a", "masterKey": "m"]
        return try Configuration.load(
            file: file.merging(options) { $1 }.serialized(), environment: environment, flags: [])
    }

    @Test("Enables metrics on a separate port, or on the main port with a key")
    func metrics() throws {
        #expect(try !Self.load([:]).metrics.isOn)
        let own = try Self.load([:], ["ROOST_METRICS_PORT": "9464", "ROOST_METRICS_HOST": "0.0.0.0"]).metrics
        #expect(own.isOn && own.port == 9464 && !own.isLocal)
        #expect(try Self.load(["metrics": ["port": 9464]]).metrics.isLocal)
        #expect(throws: ConfigurationError.self) { try Self.load(["metrics": ["onMainPort": true]]) }
        #expect(throws: ConfigurationError.self) { try Self.load(["metrics": ["port": 70_000]]) }
        #expect(try Self.load(["metrics": ["onMainPort": true, "key": "k"]]).metrics.isOn)
    }

    @Test("Warns about metrics on a public address without a key")
    func openMetrics() throws {
        #expect(try Self.read(["metrics": ["port": 9464, "host": "0.0.0.0"]]).warnings.count == 1)
        #expect(try Self.read(["metrics": ["port": 9464, "host": "0.0.0.0", "key": "k"]]).warnings.isEmpty)
        #expect(try Self.read(["metrics": ["port": 9464]]).warnings.isEmpty)
    }

    @Test("Errors about malformed tracingHeaders don't reveal their values")
    func keys() {
        for text in ["authorization=Bearer%2 hidden", "hidden", "a=1,hidden", "a=%+2hidden"] {
            let error = #expect(throws: ConfigurationError.self) { try Self.load(["tracingHeaders": .string(text)]) }
            #expect(error.map { !"\($0)".contains("hidden") } == true)
        }
    }

    @Test("Ignores log-file options with a warning")
    func logFiles() throws {
        #expect(
            try Self.read(["logsFolder": "./logs", "maxLogFiles": "14d"]).warnings == [
                "option logsFolder has no effect: Roost writes its log to standard error",
                "option maxLogFiles has no effect: Roost keeps no log files",
            ])
    }

    @Test("Reads log levels of events from logLevels or variables, and rejects unknown levels")
    func eventLevels() throws {
        let levels = try Self.load(
            ["logLevels": ["triggerAfter": "silent", "cloudFunctionError": "warn"]],
            ["PARSE_SERVER_LOG_LEVELS_SIGNUP_USERNAME_TAKEN": "debug"]
        ).eventLevels
        #expect(levels.triggerAfter == .silent)
        #expect(levels.cloudFunctionError == .warn)
        #expect(levels.signupUsernameTaken == .debug)
        #expect(levels.triggerBeforeError == .error && levels.triggerBeforeSuccess == .info)
        #expect(throws: ConfigurationError.self) { try Self.load(["logLevels": ["triggerAfter": "loud"]]) }
    }
}
