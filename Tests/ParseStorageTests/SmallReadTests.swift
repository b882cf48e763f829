import JSON
import Limits
import ParseModel
import ParseStorage
import Postgres
import TestSupport
import Testing

@Suite("Reads of small classes during slow reads")
struct SmallReadTests {
    @Test("Counts, geo, text and pattern searches complete while all slow-read connections are in use")
    func beside() async throws {
        try await TestStore.run { test in
            try await test.create(
                "G", "a", #"{"n":1,"t":"word","g":{"__type":"GeoPoint","latitude":1,"longitude":1}}"#)
            let sleeping = (1...12).map { number in
                Task {
                    let caller = CallerPresence(sender: Sender(address: "192.0.2.\(number)"))
                    try await CallerPresence.$current.withValue(caller) {
                        let limit: Duration? = number.isMultiple(of: 2) ? .seconds(25) : nil
                        _ = try await test.client.slowQuery(Statement("SELECT pg_sleep(20)"), timeLimit: limit)
                    }
                }
            }
            #expect(try await eventually { test.client.statistics.waiting >= 6 })
            let center = GeoPoint(latitude: 1, longitude: 2)
            let parser = FilterParser(isMaster: false, now: 0)
            let filters: [Filter] = [
                .everything, .field(FieldPath("g"), .near(center, radians: nil)),
                .field(FieldPath("g"), .near(center, radians: 1)),
                try parser.parse(["t": ["$text": ["$search": ["$term": "word"]]]]),
                try parser.parse(["t": ["$regex": "or"]]),
            ]
            for filter in filters {
                var request = ObjectStore.FindRequest(className: "G")
                request.filter = filter
                request.limit = 10
                request.patternTimeLimit = .seconds(2)
                request.wantsCount = filter == .everything
                #expect(try await test.store.find(request).rowCount == 1, "\(filter)")
            }
            for task in sleeping { task.cancel() }
        }
    }
}
