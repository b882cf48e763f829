import Foundation
import LocalPostgres
import Testing

@Suite("An embedded PostgreSQL whose server or postmaster was killed", .serialized)
struct AbandonedClusterTests {
    @Test("Takes over a cluster that a killed server left running, with all its data")
    func leftRunning() async throws {
        try await TemporaryCluster.withFolder { folder in
            var abandoned: LocalPostgres? = LocalPostgres(dataFolder: folder, logger: TemporaryCluster.logger)
            let uri = try #require(try await abandoned?.start())
            try await TemporaryCluster.query(uri, "CREATE TABLE t AS SELECT 7::int8 AS a")
            // The server is released without stopping its cluster, which frees the lock.
            abandoned = nil
            #expect(FileManager.default.fileExists(atPath: folder + "/cluster/postmaster.pid"))
            let next = LocalPostgres(dataFolder: folder, logger: TemporaryCluster.logger)
            #expect(try await TemporaryCluster.query(try await next.start(), "SELECT a FROM t").int(0, 0) == 7)
            await next.stop()
            #expect(!FileManager.default.fileExists(atPath: folder + "/cluster/postmaster.pid"))
        }
    }

    /// The running processes with their start times: all, or the children of a process.
    private func processes(of parent: Int32?) throws -> Set<String> {
        Set(
            try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { name in
                guard Int32(name) != nil, let stat = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8),
                    let end = stat.lastIndex(of: ")")
                else { return nil }
                let fields = stat[stat.index(after: end)...].split(separator: " ")
                guard fields.count > 19, fields[0] != "Z", parent.map({ Int32(fields[1]) == $0 }) ?? true else {
                    return nil
                }
                return "\(name) \(fields[19])"
            })
    }

    @Test("Recovers committed data after the postmaster was killed")
    func killed() async throws {
        try await TemporaryCluster.withFolder { folder in
            var abandoned: LocalPostgres? = LocalPostgres(dataFolder: folder, logger: TemporaryCluster.logger)
            let uri = try #require(try await abandoned?.start())
            try await TemporaryCluster.query(uri, "CREATE TABLE t AS SELECT 7::int8 AS a")
            let text = try String(contentsOfFile: folder + "/cluster/postmaster.pid", encoding: .utf8)
            let postmaster = try #require(text.split(separator: "\n").first.flatMap { pid_t($0) })
            let processes = try self.processes(of: postmaster)
            kill(postmaster, SIGKILL)
            abandoned = nil
            // They exit by themselves, but use the cluster's shared memory until then.
            let end = ContinuousClock.now + .seconds(30)
            while try !self.processes(of: nil).isDisjoint(with: processes), .now < end {
                try await Task.sleep(for: .milliseconds(20))
            }
            let next = LocalPostgres(dataFolder: folder, logger: TemporaryCluster.logger)
            #expect(try await TemporaryCluster.query(try await next.start(), "SELECT a FROM t").int(0, 0) == 7)
            await next.stop()
        }
    }
}
