import ParseModel
import ParseStorage
import Postgres
import TestSupport
import Testing

@Suite("Errors and log lines for failed statements")
struct DatabaseFailureTests {
    @Test("Statement and transaction timeouts become Parse timeout errors", arguments: ["57014", "25P03"])
    func timeOut(sqlState: String) {
        let error = DatabaseFailure.parseError(PostgresError(.server, "it took too long", sqlState: sqlState))
        #expect(error.code == ParseError.timeout)
    }

    @Test("Logs server messages, which may quote client data, at debug, and driver messages as errors")
    func words() {
        let log = LogLines()
        let client = PostgresClient(configuration: PostgresConfiguration(connectionString: ""), logger: log.logger)
        let catalog = SchemaCatalog(client: client, senderId: "test", refusesMixedMembership: false, logger: log.logger)
        let store = ObjectStore(client: client, catalog: catalog, logger: log.logger)
        _ = store.failure(PostgresError(.server, "what a client sent", sqlState: "42883"))
        #expect(log.all.contains { $0.hasPrefix("error") && $0.contains("42883") })
        #expect(!log.all.contains { !$0.hasPrefix("debug") && $0.contains("what a client sent") })
        _ = store.failure(PostgresError(.unavailable, "no route to the host"))
        #expect(log.all.contains { $0.hasPrefix("error") && $0.contains("no route to the host") })
    }
}
