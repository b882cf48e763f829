import ParseModel
import ParseStorage
import Postgres
import TestSupport
import Testing

@Suite("What callers are told of a statement that failed")
struct DatabaseFailureTests {
    @Test(
        "A statement or transaction that took too long is a time-out, whoever ended it",
        arguments: ["57014", "25P03"])
    func timeOut(sqlState: String) {
        let error = DatabaseFailure.parseError(PostgresError(.server, "it took too long", sqlState: sqlState))
        #expect(error.code == ParseError.timeout)
    }

    @Test("What PostgreSQL says quotes what clients sent and is at debug; what the driver says is no secret")
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
