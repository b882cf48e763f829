import Postgres
import Testing

@Suite("Session settings that poolers reject as startup parameters") struct SessionSettingsTests {
    @Test("Parses all forms of the options parameter; the last value of a name wins")
    func forms() {
        let settings = SessionSettings(
            #"-c jit=off -cwork_mem=4MB --lock-timeout=20  -c search_path="app\ one",public -c jit=on -e -c broken"#)
        #expect(settings.values.map(\.name) == ["work_mem", "lock_timeout", "search_path", "jit"])
        #expect(settings.values.map(\.value) == ["4MB", "20", #""app one",public"#, "on"])
        #expect(SessionSettings("").statement == nil)
    }

    @Test("Applies server options with set_config in the session")
    func refusal() {
        let parameters = ConnectionParameters(
            PostgresConfiguration(connectionString: "postgres://h/d?options=-c%20search_path%3D%22my%20schema%22"))
        #expect(parameters.settings?.contains("set_config('jit', 'off', false)") == true)
        #expect(parameters.settings?.contains("set_config('statement_timeout', '30000', false)") == true)
    }

    @Test("Administration and exports bypass the pooler if a direct connection string is set")
    func addresses() {
        var configuration = PostgresConfiguration(connectionString: "postgres://pooler/d")
        configuration.isBehindTransactionPooler = true
        #expect(!configuration.hasSessions)
        configuration.directConnectionString = "postgres://server/d"
        #expect(configuration.hasSessions)
        for purpose in PoolPurpose.allCases {
            let parameters = configuration.parameters(of: purpose)
            let isDirect = [.administration, .exports].contains(purpose)
            #expect(parameters.address == (isDirect ? "postgres://server/d" : "postgres://pooler/d"))
            #expect(parameters.statements == (isDirect ? .prepared : .unprepared))
        }
        configuration.poolerKeepsStatements = true
        #expect(configuration.parameters(of: .slowReads).statements == .preparedByPooler)
    }
}
