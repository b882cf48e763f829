import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// A primary with two standbys, killed under load.
@Suite(.serialized) struct PromotionTests {
    /// The ids of objects whose save was acknowledged.
    private final class Saves: Sendable {
        private struct State {
            var ids: Set<String> = []
            var isOver = false
        }

        private let state = Mutex(State())

        var ids: Set<String> { state.withLock { $0.ids } }
        var isOver: Bool { state.withLock { $0.isOver } }

        func add(_ id: String) { state.withLock { _ = $0.ids.insert(id) } }
        func end() { state.withLock { $0.isOver = true } }
    }

    private static func save(_ server: TestServer, _ saves: Saves) async {
        while !saves.isOver {
            if let id = try? await server.create("Note", ["n": 1]) { saves.add(id) }
        }
    }

    /// Kills the primary under load and promotes a standby.
    ///
    /// - Returns: The index of the new primary.
    private static func failOver(_ cluster: ReplicatedCluster, _ saves: Saves) async throws -> Int {
        let isBusy = try await eventually { saves.ids.count > 200 }
        #expect(isBusy)
        try await cluster.killPrimary()
        let chosen = try await furthest(cluster)
        try await cluster.promote(chosen)
        let before = saves.ids.count
        let start = ContinuousClock.now
        let goesOn = try await eventually { saves.ids.count > before }
        #expect(goesOn)
        print("saves: \(before) before, the first \(ContinuousClock.now - start) after the promotion")
        let isBusyAgain = try await eventually { saves.ids.count > before + 200 }
        #expect(isBusyAgain)
        return chosen
    }

    private static func stored(on uri: String) async throws -> Set<String> {
        Set(try await TestServer.texts("SELECT \"objectId\"::text FROM \"Note\"", on: uri))
    }

    private static func furthest(_ cluster: ReplicatedCluster) async throws -> Int {
        var best = (number: 0, position: -1.0)
        for (number, uri) in cluster.replicaURIs.enumerated() {
            let text = try await TestServer.texts(
                "SELECT (pg_last_wal_receive_lsn() - '0/0'::pg_lsn)::text", on: uri)
            let position = Double(text.first ?? "") ?? 0
            if position > best.position { best = (number, position) }
        }
        return best.number
    }

    @Test("A failover under load loses no acknowledged save, and the revived old primary gets no writes")
    func failover() async throws {
        try await ReplicatedCluster.run(replicas: 2) { cluster in
            let uri = cluster.writableURI
            try await TestServer.run(on: uri, ["databaseURI": .string(uri)]) { server in
                _ = try await server.create("Note", ["n": -1])
                try await cluster.makeSynchronous()
                let saves = Saves()
                let writers = (0..<8).map { _ in Task { await Self.save(server, saves) } }
                let outcome = await Task { try await Self.failOver(cluster, saves) }.result
                saves.end()
                for writer in writers { await writer.value }
                let promoted = try outcome.get()
                let newPrimary = cluster.replicaURIs[promoted]
                let lost = saves.ids.subtracting(try await Self.stored(on: newPrimary))
                print("saves: \(saves.ids.count) acknowledged, \(lost.count) lost")
                #expect(lost.isEmpty)

                // The old primary is first in the list and still accepts writes.
                try await cluster.reviveOldPrimary()
                let old = try await Self.stored(on: cluster.primaryURI)
                let end = """
                    SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
                    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
                    """
                for _ in 0..<3 {
                    _ = try await TestServer.texts(end, on: newPrimary)
                    let before = saves.ids.count
                    // Requests on a connection that is being closed fail.
                    while saves.ids.count < before + 20 {
                        if let id = try? await server.create("Note", ["n": 100]) { saves.add(id) }
                    }
                }
                let new = try await Self.stored(on: newPrimary)
                #expect(saves.ids.isSubset(of: new))
                let stillOld = try await Self.stored(on: cluster.primaryURI)
                #expect(stillOld == old)
            }
        }
    }
}
