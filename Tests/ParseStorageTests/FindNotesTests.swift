import JSON
import Limits
import ParseModel
import ParseStorage
import Testing

@Suite("Records of slow finds")
struct FindNotesTests {
    /// A find, and its recorded shape.
    struct Case: CustomTestStringConvertible, Sendable {
        let filter: JSONObject
        var order = ""
        var limit: Int?
        var isCount = false
        let key: String?
        var testDescription: String { JSONValue.object(filter).text + order }
    }

    private static let point: JSONValue = ["__type": "GeoPoint", "latitude": 1, "longitude": 1]
    private static let cases = [
        Case(
            filter: ["artist": "a"], order: "-plays,title", limit: 100,
            key: #"{"table":"Track","equal":["artist"],"order":"plays","descending":true,"limited":true}"#),
        Case(
            filter: ["plays": ["$gte": 1], "artist": ["$in": ["a"]]], order: "title", limit: 100, isCount: true,
            key: #"{"table":"Track","equal":["artist"],"ranges":["plays"],"count":true}"#),
        Case(
            filter: ["owner": ["$inQuery": ["className": "Owner", "where": ["country": "c"]]]],
            key: #"{"table":"Track","equal":["owner"]}"#),
        Case(
            filter: ["title": ["$regex": "^\\Qa\\E"], "artist": ["$exists": true]],
            key: #"{"table":"Track","prefixes":["title"]}"#),
        Case(
            filter: ["artist": "a", "title": ["$ne": "b"]],
            key: #"{"table":"Track","equal":["artist"],"other":true}"#),
        Case(
            filter: ["artist": "a", "place": ["$nearSphere": point]],
            key: #"{"table":"Track","equal":["artist"],"other":true}"#),
        Case(filter: ["$or": [["title": "a"], ["artist": "a"]]], key: nil),
        Case(filter: ["title": .null], key: nil),
        Case(filter: ["data.a": 1, "none": 1], key: nil),
        Case(filter: ["objectId": ["$in": ["a"]], "artist": "a"], key: nil),
        Case(filter: [:], key: nil),
    ]

    private static let schema = ClassSchema(
        name: "Track",
        fields: [
            "title": Field(.string), "artist": Field(.string), "plays": Field(.number), "data": Field(.object),
            "place": Field(.geoPoint), "owner": Field(.pointer("Owner")),
        ])

    @Test("A shape names the fields that an index could serve, and no values", arguments: cases)
    func shape(test: Case) throws {
        var request = ObjectStore.FindRequest(className: "Track")
        request.filter = try FilterParser(isMaster: true, now: 0).parse(test.filter)
        (request.order, request.limit) = (SortKey.list(.string(test.order)), test.limit)
        let shape = QueryShape(request, Self.schema, isCount: test.isCount)
        #expect(shape?.key == test.key)
        if let shape { #expect(QueryShape(key: shape.key) == shape) }
    }

    @Test("A shape has a bounded size, however many fields a condition has")
    func manyFields() throws {
        let names = (0..<200).map { Name(String(repeating: "f", count: 60) + "\($0)") }
        let schema = ClassSchema(name: "T", fields: .init(uniqueKeysWithValues: names.map { ($0, Field(.number)) }))
        var request = ObjectStore.FindRequest(className: "T")
        request.filter = .all(names.map { .field(FieldPath($0), .equal(1)) })
        #expect(try #require(QueryShape(request, schema)).key.utf8.count < 1000)
    }

    @Test("Reads of distinct values have their own query shape")
    func distinct() {
        let key = #"{"table":"Track","distinct":"state"}"#
        let shape = QueryShape(table: "Track", distinct: "state")
        #expect(shape.key == key && QueryShape(key: key) == shape)
    }

    private static func shape(_ table: String) -> QueryShape {
        var shape = QueryShape(table: Name(table))
        shape.equal = ["a"]
        return shape
    }

    @Test("Records a bounded number of shapes and drops those with the least total time")
    func bound() {
        let notes = FindNotes()
        for number in 0..<FindNotes.capacity + 100 {
            notes.record(Self.shape("T\(number)"), took: .milliseconds(number + 20), isTimeout: false)
        }
        let kept = notes.drain()
        #expect(kept.count == FindNotes.capacity)
        #expect(kept.values.allSatisfy { $0.total >= 120 })
        #expect(notes.drain().isEmpty)
    }

    @Test("Limits how much one sender's finds count between writes, but not the server's own finds")
    func boundOfSender() {
        let notes = FindNotes()
        let limit = FindNotes.maxPerSender.calls
        func note(_ table: String, _ sender: Sender, times: Int, milliseconds: Int = 30) {
            for _ in 0..<times {
                notes.record(Self.shape(table), took: .milliseconds(milliseconds), isTimeout: false, of: sender)
            }
        }
        note("A", Sender(address: "10.1.2.3"), times: limit + 50)
        note("A", Sender(address: "10.9.2.3"), times: 5)
        note("B", .server, times: limit + 50)
        note("C", Sender(address: "10.7.2.3"), times: 10, milliseconds: 9000)
        let calls = Dictionary(uniqueKeysWithValues: notes.drain().map { ($0.key.table.text, $0.value.calls) })
        #expect(calls == ["A": limit + 5, "B": limit + 50, "C": 3])
        note("A", Sender(address: "10.1.2.3"), times: 1)
        #expect(notes.drain().values.map(\.calls) == [1])
        for number in 0..<FindNotes.maxSenders + 300 {
            note("D", Sender(address: "10.\(number / 250).\(number % 250).1"), times: 1)
        }
        #expect(notes.drain().values.map(\.calls) == [FindNotes.maxSenders + limit])
    }
}
