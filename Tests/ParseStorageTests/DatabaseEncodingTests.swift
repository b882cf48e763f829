import ParseStorage
import Postgres
import TestTools
import Testing

@Suite("Database encoding")
struct DatabaseEncodingTests {
    @Test(
        "Rejects a database whose encoding isn't UTF-8 before creating anything in it",
        arguments: ["SQL_ASCII", "LATIN1"])
    func refused(encoding: String) async throws {
        let options = "ENCODING '\(encoding)' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        try await TestStore.withDatabase(options: options) { uri in
            try await TestStore.open(uri) { test in
                let installer = DatabaseInstaller(client: test.client, catalog: test.catalog, logger: TestStore.logger)
                let error = await #expect(throws: DatabaseInstaller.UnsupportedEncoding.self) {
                    try await installer.install()
                }
                #expect(error?.description.contains(encoding) == true)
                let made = try await test.client.query("SELECT to_regclass('\"_SCHEMA\"') IS NULL")
                #expect(made.bool(0, 0) == true)
            }
        }
    }
}
