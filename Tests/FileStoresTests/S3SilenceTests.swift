import FileStorage
import FileStores
import Foundation
import JSON
import NIOCore
import Outgoing
import TestSupport
import Testing

/// Each time limit is tested once, with its real duration.
@Suite("Unresponsive stores")
struct S3SilenceTests {
    private static let once: JSONObject = ["s3overrides": ["maxAttempts": 1]]

    /// Expects that the time limit ends the operation, neither much earlier nor much later.
    private static func expectLimit(_ seconds: Double, _ body: () async throws -> Void) async rethrows {
        let time = try await ContinuousClock().measure(body)
        #expect(time >= .seconds(seconds - 0.5))
        #expect(time < .seconds(seconds + 60))
    }

    @Test("Times out after 3 seconds if the connection is neither accepted nor refused")
    func dropped() async throws {
        let full = try FullPort()
        try await BucketServer.withStorage(Self.once, endpointPort: full.port) { storage in
            await Self.expectLimit(3) {
                await #expect(throws: FileStorageError.unavailable(retryAfter: 1)) {
                    _ = try await storage.open(name: "a")
                }
            }
            await Self.expectLimit(3) {
                await #expect(throws: FileStorageError.unavailable(retryAfter: 1)) {
                    try await storage.write(name: "a", bytes: [1])
                }
            }
        }
        withExtendedLifetime(full) {}
    }

    @Test("Times out after 10 seconds without a response and closes the connection")
    func headless() async throws {
        let behaviour: StoreStandIn.Behaviour = { _, _ in .silence }
        try await StoreStandIn.run(behaviour) { store in
            try await BucketServer.withStorage(Self.once, endpointPort: store.port) { storage in
                await Self.expectLimit(10) {
                    await #expect(throws: FileStorageError.unavailable(retryAfter: 1)) {
                        _ = try await storage.open(name: "a")
                    }
                }
                let isClosed = try await eventually { store.connections == 0 }
                #expect(isClosed)
            }
        }
    }

    @Test("Times out a download from another server that stalls or never begins")
    func download() async throws {
        let caller = try HTTPCaller(S3OptionTests.load([:]).outgoing)
        let behaviour: StoreStandIn.Behaviour = { call, _ in
            call.has("stall") ? .stall("12345", length: 10) : .silence
        }
        try await StoreStandIn.run(behaviour) { store in
            for (path, bytes) in [("stall", 5), ("silent", 0)] {
                var read = 0
                await #expect(throws: HTTPCallFailure.self) {
                    let call = HTTPCall("GET", "http://127.0.0.1:\(store.port)/\(path)")
                    _ = try await caller.download(call, silence: .seconds(2)) { read += $0.readableBytes }
                }
                #expect(read == bytes)
            }
            let isClosed = try await eventually { store.connections == 0 }
            #expect(isClosed)
        }
        await caller.shutdown()
    }

    @Test("Times out after 20 seconds if a body stalls, and closes the connection")
    func stalled() async throws {
        let behaviour: StoreStandIn.Behaviour = { _, _ in .stall("12345", length: 10) }
        try await StoreStandIn.run(behaviour) { store in
            try await BucketServer.withStorage(Self.once, endpointPort: store.port) { storage in
                let file = try #require(try await storage.open(name: "a"))
                #expect(file.size == 10)
                var read = 0
                await Self.expectLimit(20) {
                    await #expect(throws: S3Object.Cut.self) {
                        try await file.give(0..<10) { read += $0.readableBytes }
                    }
                }
                #expect(read == 5)
                let isClosed = try await eventually { store.connections == 0 }
                #expect(isClosed)
            }
        }
    }
}
