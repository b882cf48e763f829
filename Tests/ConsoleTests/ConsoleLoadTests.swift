import Foundation
import JSON
import TestSupport
import Testing

/// What the console costs others: nobody waits for what it waits for.
@Suite("The load of a console")
struct ConsoleLoadTests {
    @Test("Gets go on beside consoles whose finds take long, of which few are carried out at once")
    func gets() async throws {
        try await TestServer.run(["lockTimeout": 60_000]) { server in
            let track = try await server.create("Track", ["title": "a", "plays": 1])
            _ = try await server.create("Slow", ["plays": 1])
            let browser = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let finds = try await server.whileLocked("LOCK TABLE \"Slow\" IN ACCESS EXCLUSIVE MODE") {
                let finds = (0..<12).map { _ in
                    Task {
                        try await browser.parse(
                            "GET", "/classes/Slow?order=plays&limit=200", headers: ["X-Roost-Shorten": "256"])
                    }
                }
                let areUnderWay = try await server.waitsForLocks()
                #expect(areUnderWay)
                for _ in 0..<100 {
                    let get = try await server.send("GET", "/classes/Track/\(track)")
                    #expect(get.status == 200)
                }
                // The others have not come to the database.
                let many = max(2, ProcessInfo.processInfo.activeProcessorCount)
                let waiting = try await server.texts(TestServer.lockWaits)
                #expect(waiting.count <= many, "\(waiting)")
                return finds
            }
            for find in finds { #expect(try await find.value.results.count == 1) }
        }
    }

    @Test("Counts of 200 classes keep no read of the console waiting", .timeLimit(.minutes(4)))
    func counts() async throws {
        try await TestServer.run(["lockTimeout": 60_000]) { server in
            for number in 0..<200 {
                let made = try await server.send("POST", "/schemas/Class\(number)", [:], as: .master)
                try #require(made.status == 200)
            }
            _ = try await server.create("Class0", ["title": "a"])
            let browser = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let counts = try await server.whileLocked("LOCK TABLE \"Class7\" IN ACCESS EXCLUSIVE MODE") {
                let counts = (0..<3).map { _ in Task { try await browser.send("GET", "/console/api/counts") } }
                let areUnderWay = try await server.waitsForLocks()
                #expect(areUnderWay)
                for _ in 0..<20 {
                    let found = try await browser.parse("GET", "/classes/Class0?limit=200")
                    #expect(found.results.count == 1, "\(found.text)")
                }
                return counts
            }
            for count in counts { #expect(try await count.value["classes"]?.arrayValue?.count ?? 0 >= 200) }
        }
    }
}
