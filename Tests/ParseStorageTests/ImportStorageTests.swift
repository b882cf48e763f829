import Migration
import ParseModel
import TestSupport
import Testing

/// The durability of imported data.
@Suite struct ImportStorageTests {
    @Test("A finished import is durable", arguments: [true, false])
    func durable(isWhole: Bool) async throws {
        try await TestStore.run { test in
            let storage = try ImportStorage(connectionString: test.uri, logger: TestStore.logger)
            #expect(try storage.begin())
            _ = try storage.begin(ImportTable(ClassSchema(name: "_User")), source: "source", mode: .fill)
            let written = try await test.client.query("SELECT pg_current_wal_insert_lsn()::text").string(0, 0) ?? ""
            try storage.finish("source", isWhole: isWhole)
            let isOnDisk = try await test.client.query(
                "SELECT pg_current_wal_flush_lsn() >= $1::text::pg_lsn", [.text(written)])
            #expect(isOnDisk.bool(0, 0) == true)
            #expect(try storage.isFinished("source") == isWhole)
        }
    }
}
