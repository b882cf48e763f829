import JSON
import Limits
import ParseModel
import ParseStorage
import Postgres
import TestSupport
import Testing

@Suite("Nearest objects in a large class")
struct NearestSearchTests {
    private static func request(_ center: GeoPoint, _ others: Filter = .everything, limit: Int = 20, skip: Int = 0)
        -> ObjectStore.FindRequest
    {
        var request = ObjectStore.FindRequest(className: "G")
        request.filter = Filter.field(FieldPath("g"), .near(center, radians: nil)).and(others)
        request.limit = limit
        request.skip = skip
        return request
    }

    @Test("Circle searches find the exact nearest rows, also at poles and the antimeridian, with an index")
    func exactness() async throws {
        try await TestStore.run { test in
            try await test.create("G", "a", #"{"n":0,"g":{"__type":"GeoPoint","latitude":0,"longitude":0}}"#)
            _ = try await test.client.slowQuery(
                Statement(
                    """
                    WITH s AS MATERIALIZED (SELECT setseed(0.5)), i AS (INSERT INTO "G" ("objectId", "n", "g") \
                    SELECT 'r' || i, i, point(random() * 360 - 180, random() * 180 - 90) \
                    FROM s, generate_series(1, 60000) AS i RETURNING 1) SELECT count(*) FROM i
                    """))
            _ = try await test.client.query("ANALYZE \"G\"")
            let centers = [
                GeoPoint(latitude: 52.5, longitude: 13.4), GeoPoint(latitude: 89.99, longitude: 10),
                GeoPoint(latitude: -90, longitude: 0), GeoPoint(latitude: 0.1, longitude: 179.99),
                GeoPoint(latitude: -17, longitude: -180),
            ]
            for center in centers {
                for (limit, skip) in [(1, 0), (50, 7), (20, 3000)] {
                    let found = try await test.store.find(Self.request(center, limit: limit, skip: skip))
                    let exact = try await test.client.slowQuery(
                        Statement(
                            "SELECT \"objectId\" FROM \"G\" ORDER BY roost_distance(\"g\", $1, $2) LIMIT $3 OFFSET $4",
                            [
                                .double(center.longitude), .double(center.latitude), .int(Int64(limit)),
                                .int(Int64(skip)),
                            ]))
                    let ids = (0..<found.rowCount).compactMap(found.objectId)
                    #expect(
                        ids == (0..<exact.rowCount).compactMap { exact.string($0, 0) }, "\(center) \(limit) \(skip)")
                }
            }
            // Fewer rows match than requested, so circles don't help, but no row is missing.
            let few = Filter.field(FieldPath("n"), .compare(.less, 4))
            for _ in 0..<2 {
                let found = try await test.store.find(Self.request(centers[0], few))
                #expect(Set((0..<found.rowCount).compactMap(found.objectId)) == ["a", "r1", "r2", "r3"])
            }
            let isFromIndex = try await eventually {
                _ = try await test.store.find(Self.request(centers[0]))
                let scans = try await test.client.query(
                    "SELECT 1 FROM pg_stat_user_indexes WHERE indexrelname = 'roost_geo:G:g' AND idx_scan > 0")
                return scans.rowCount == 1
            }
            #expect(isFromIndex)
        }
    }

    @Test("Searches without circles until that is slow, then in circles that grow until they suffice")
    func rounds() async throws {
        try await TestStore.run { test in
            let search = try #require(NearestSearch(Self.request(GeoPoint(latitude: 1, longitude: 2), limit: 10)))
            let history = NearestHistory()
            /// Runs a search in which circles contain enough rows from a radius on.
            ///
            /// - Returns: The radius of each round in kilometers, or nil for a round without a circle.
            func run(plain sql: String, rowsFrom enough: Double) async throws -> [Int?] {
                var rounds: [Int?] = []
                let result = try await search.run(Statement(sql), history) { radius in
                    rounds.append(Int((radius * 6371).rounded()))
                    return Statement("SELECT generate_series(1, \(radius < enough ? 3 : 10)), 'circle'")
                } read: { statement, limit in
                    if !statement.sql.contains("circle") { rounds.append(nil) }
                    return try await test.client.search(
                        statement, .init(maxRows: 10, cost: Cost(isSlow: true), timeLimit: limit, isTrial: limit != nil)
                    )
                }
                #expect(result.rowCount == (rounds.last == .some(nil) ? 1 : 10))
                return rounds
            }
            #expect(try await run(plain: "SELECT 'small'", rowsFrom: 0) == [nil])
            #expect(try await run(plain: "SELECT 'small'", rowsFrom: 0) == [nil])
            let slow = "SELECT pg_sleep(0.5)"
            #expect(try await run(plain: slow, rowsFrom: 0.02) == [nil, 10, 40, 160])
            #expect(try await run(plain: slow, rowsFrom: 0) == [10])
            // A point far from all rows must not make other searches slow.
            #expect(try await run(plain: slow, rowsFrom: 4) == [10, 40, 160, 640, 2560, nil])
            #expect(try await run(plain: slow, rowsFrom: 0) == [10])
        }
    }

    @Test("Doesn't use circles for finds whose results they would change")
    func others() throws {
        let center = GeoPoint(latitude: 1, longitude: 2)
        let near = Filter.field(FieldPath("g"), .near(center, radians: nil))
        let flag = Filter.field(FieldPath("b"), .equal(true))
        #expect(NearestSearch(Self.request(center, flag)) != nil)
        var request = Self.request(center)
        for filter in [
            flag, .any([near, flag]), .none([near]), near.and(near),
            .field(FieldPath("g"), .near(center, radians: 0.1)),
            .field(FieldPath("g"), .near(GeoPoint(latitude: 100, longitude: 2), radians: nil)),
        ] {
            request.filter = filter
            #expect(NearestSearch(request) == nil, "\(filter)")
        }
        request.filter = near
        request.limit = nil
        #expect(NearestSearch(request) == nil)
        request.limit = 10
        request.wantsCount = true
        #expect(NearestSearch(request) == nil)
        request.wantsCount = false
        request.order = [SortKey(FieldPath("n"), isDescending: false)]
        #expect(NearestSearch(request) == nil)
    }
}
