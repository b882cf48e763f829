import Postgres
import Testing

@Suite("Connection parameters for libpq") struct ConnectionParameterTests {
    @Test("Disables GSSAPI encryption unless the connection string sets gssencmode", arguments: [true, false])
    func encryption(isPooled: Bool) {
        var configuration = PostgresConfiguration(connectionString: "postgres://h/d?gssencmode=prefer")
        configuration.isBehindTransactionPooler = isPooled
        let parameters = ConnectionParameters(configuration)
        let told = Array(zip(parameters.keywords, parameters.values))
        #expect(told[0] == ("gssencmode", "disable"))
        // Later parameters override earlier ones.
        #expect(told[1] == ("dbname", "postgres://h/d?gssencmode=prefer"))
    }
}
