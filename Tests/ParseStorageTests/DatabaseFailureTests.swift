import ParseModel
import Postgres
import Testing

@testable import ParseStorage

@Suite("What callers are told of a statement that failed")
struct DatabaseFailureTests {
    @Test(
        "A statement or transaction that took too long is a time-out, whoever ended it",
        arguments: ["57014", "25P03"])
    func timeOut(sqlState: String) {
        let error = DatabaseFailure.parseError(PostgresError(.server, "it took too long", sqlState: sqlState))
        #expect(error.code == ParseError.timeout)
    }
}
