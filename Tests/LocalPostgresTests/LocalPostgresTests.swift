import Foundation
import LocalPostgres
import Postgres
import Testing

/// The suites are separate because the tests of each run one after another.
@Suite("The embedded PostgreSQL", .serialized)
struct LocalPostgresTests {
    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? Int ?? 0) & 0o777
    }

    @Test(
        "Root neither starts another user's cluster nor changes the owner of its folder",
        .enabled(if: getuid() == 0))
    func foreignCluster() async throws {
        try await TemporaryCluster.withFolder { folder in
            let nobody = try #require(getpwnam("nobody")).pointee.pw_uid
            try FileManager.default.createDirectory(atPath: folder + "/cluster", withIntermediateDirectories: true)
            for path in [folder, folder + "/cluster"] { #expect(chown(path, nobody, getgid()) == 0) }
            let descriptor = open(folder + "/roost.lock", O_CREAT | O_RDWR, 0o600)
            #expect(flock(descriptor, LOCK_EX) == 0)
            for message in ["another Roost server uses \(folder)", "\(folder)/cluster belongs to the user nobody"] {
                let failure = await #expect(throws: LocalPostgres.Failure.self) {
                    _ = try await LocalPostgres(dataFolder: folder, logger: TemporaryCluster.logger).start()
                }
                #expect(failure?.description.hasPrefix(message) == true, "\(String(describing: failure))")
                var status = stat()
                #expect(stat(folder, &status) == 0 && status.st_uid == nobody)
                flock(descriptor, LOCK_UN)
            }
            close(descriptor)
        }
    }

    @Test(
        "Doesn't follow links that the user postgres could have put into the folder",
        arguments: ["socket", "commands.log", "roost.lock"])
    func links(_ name: String) async throws {
        try await TemporaryCluster.withFolder("/data") { folder in
            let target = folder + "-" + name
            if name == "socket" {
                try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
                #expect(chmod(target, 0o755) == 0)
            }
            try FileManager.default.createSymbolicLink(atPath: folder + "/" + name, withDestinationPath: target)
            await #expect(throws: LocalPostgres.Failure.self) {
                _ = try await LocalPostgres(dataFolder: folder, logger: TemporaryCluster.logger).start()
            }
            var status = stat()
            let isThere = stat(target, &status) == 0
            #expect(isThere == (name == "socket"))
            if isThere { #expect(status.st_uid == getuid() && status.st_mode & 0o777 == 0o755) }
        }
    }

    @Test("The first start creates a private, durable cluster, and the second one keeps its data")
    func startsTwice() async throws {
        try await TemporaryCluster.withFolder { folder in
            let first = LocalPostgres(dataFolder: folder, logger: TemporaryCluster.logger)
            let uri = try await first.start()
            #expect(try await TemporaryCluster.query(uri, "SELECT current_database()::text").string(0, 0) == "roost")
            try await TemporaryCluster.query(uri, "CREATE TABLE t AS SELECT 42::int8 AS a")
            #expect(try await TemporaryCluster.query(uri, "SHOW listen_addresses").string(0, 0) == "")
            #expect(try await TemporaryCluster.query(uri, "SHOW data_checksums").string(0, 0) == "on")
            #expect(try await TemporaryCluster.query(uri, "SHOW fsync").string(0, 0) == "on")
            for path in [folder, folder + "/cluster", folder + "/socket"] {
                #expect(try mode(path) == 0o700, "\(path)")
            }
            #expect(try mode(folder + "/roost.lock") == 0o600)
            await first.stop()
            await #expect(throws: PostgresError.self) { try await TemporaryCluster.query(uri, "SELECT 1") }

            let second = LocalPostgres(dataFolder: folder, logger: TemporaryCluster.logger)
            let again = try await second.start()
            #expect(try await TemporaryCluster.query(again, "SELECT a FROM t").int(0, 0) == 42)
            await second.stop()
        }
    }

    @Test("Rejects a second server on the same folder until the first one stops")
    func onlyOne() async throws {
        try await TemporaryCluster.withFolder { folder in
            let first = LocalPostgres(dataFolder: folder, logger: TemporaryCluster.logger)
            let uri = try await first.start()
            let second = LocalPostgres(dataFolder: folder, logger: TemporaryCluster.logger)
            do {
                _ = try await second.start()
                Issue.record("the second server must be refused")
            } catch let error as LocalPostgres.Failure {
                #expect(error.description.contains("another Roost server uses \(folder)"))
            }
            // The rejected attempt didn't disturb the first one.
            #expect(try await TemporaryCluster.query(uri, "SELECT 1::int8").int(0, 0) == 1)
            await first.stop()
            _ = try await second.start()
            await second.stop()
        }
    }

    @Test("A command shares the cluster of a running server, or starts it if no server is running")
    func shared() async throws {
        try await TemporaryCluster.withFolder { folder in
            let command = LocalPostgres(dataFolder: folder, logger: TemporaryCluster.logger)
            #expect(!command.exists)
            let server = LocalPostgres(dataFolder: folder, logger: TemporaryCluster.logger)
            let uri = try await server.start()
            #expect(command.exists)
            let beside = try await command.startOrShare()
            #expect(beside.isShared)
            #expect(beside.connectionString == uri)
            #expect(try await TemporaryCluster.query(beside.connectionString, "SELECT 1::int8").int(0, 0) == 1)
            await server.stop()
            let alone = try await command.startOrShare()
            #expect(!alone.isShared)
            #expect(try await TemporaryCluster.query(alone.connectionString, "SELECT 2::int8").int(0, 0) == 2)
            await command.stop()
        }
    }

    @Test(
        "Works in a folder whose path is too long for a socket or contains a quote and a comma",
        arguments: ["/" + String(repeating: "long", count: 25), "/o'brien, sons"])
    func oddPaths(path: String) async throws {
        try await TemporaryCluster.withFolder(path) { folder in
            let server = LocalPostgres(dataFolder: folder, logger: TemporaryCluster.logger)
            let uri = try await server.start()
            #expect(try await TemporaryCluster.query(uri, "SELECT 1::int8").int(0, 0) == 1)
            await server.stop()
        }
    }
}
