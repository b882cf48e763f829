import Console
import JSON
import ParseModel
import Testing

/// Counts of classes, and of references to an object.
@Suite struct ClassCountTests {
    @Test("Counts the objects of classes, estimates large tables and leaves out missing ones")
    func counts() async throws {
        try await TestStore.run { test in
            for index in 0..<5 { try await test.create("Song", "s\(index)") }
            try await test.create("select \"x", "a")
            let names = ["Song", "Gone", "select \"x"]
            let counts = try await test.store.classCounts.counts(of: names, largest: 1 << 24, seconds: 1)
            #expect(counts.map(\.className) == ["Song", "select \"x"])
            #expect(counts.map(\.objects) == [5, 1])
            #expect(counts.allSatisfy { !$0.isEstimate && $0.bytes > 0 && $0.indexBytes > 0 })
            // Without statistics, a table can't be estimated.
            #expect(
                try await test.store.classCounts.counts(of: ["Song"], largest: 0, seconds: 1).first?.isEstimate == false
            )
            try await test.client.execute(script: "VACUUM ANALYZE \"Song\"")
            let estimate = try await test.store.classCounts.counts(of: ["Song"], largest: 0, seconds: 1).first
            #expect(estimate?.isEstimate == true && estimate?.objects == 5)
            #expect(try await test.store.classCounts.counts(of: [], largest: 0, seconds: 1).isEmpty)
        }
    }

    @Test("Estimates a locked class and still counts the others")
    func locked() async throws {
        try await TestStore.run { test in
            for name in ["Album", "Song"] { try await test.create(name, "a") }
            try await test.client.exclusively { session in
                _ = try await session.query("BEGIN")
                _ = try await session.query("LOCK TABLE \"Album\"")
                // Counting it would wait for the lock.
                let counts = try await test.store.classCounts.counts(
                    of: ["Album", "Song"], largest: 1 << 24, seconds: 1)
                #expect(counts.map(\.className) == ["Album", "Song"] && counts.map(\.isEstimate) == [true, false])
                _ = try await session.query("ROLLBACK")
            }
        }
    }

    @Test("Counts pointers and relations to an object up to a limit")
    func references() async throws {
        try await TestStore.run { test in
            let pointer = "{\"__type\":\"Pointer\",\"className\":\"Album\",\"objectId\":\"a\"}"
            try await test.create("Album", "a")
            for index in 0..<4 { try await test.create("Song", "s\(index)", "{\"album\":\(pointer)}") }
            try await test.create("List", "l", "{\"albums\":{\"__op\":\"AddRelation\",\"objects\":[\(pointer)]}}")
            let target = Pointer(className: "Album", objectId: "a")
            func count(_ field: String, _ className: String, limit: Int = 10, within time: Duration? = .seconds(10))
                async throws -> Reference?
            {
                try await test.store.references.references(
                    to: target, by: field, of: className, limit: limit, within: time)
            }
            let four = try #require(try await count("album", "Song"))
            #expect(four.count == 4 && !four.isEstimate)
            let found = try #require(try await count("album", "Song", limit: 3))
            #expect(found.count == 3 && found.isEstimate)
            let relation = try #require(try await count("albums", "List"))
            #expect(relation.count == 1 && !relation.isEstimate)
            let expected = try #require(try await count("album", "Song", within: nil))
            #expect(expected.isEstimate)
            let other = try await test.store.references.references(
                to: Pointer(className: "Song", objectId: "a"), by: "album", of: "Song", limit: 3, within: nil)
            #expect(other == nil)
        }
    }
}
