import JSON
import ParseModel
import Testing

@Suite("Filters are matched in memory as the database matches them")
struct FilterMatcherTests {
    private static let schema = ClassSchema(
        name: "Song",
        fields: [
            "title": Field(.string), "plays": Field(.number), "live": Field(.boolean), "released": Field(.date),
            "tags": Field(.array), "info": Field(.object), "by": Field(.pointer("Artist")), "cover": Field(.file),
            "place": Field(.geoPoint), "area": Field(.polygon), "likes": Field(.relation("_User")),
            "missing": Field(.string),
        ])
    private static let song: JSONObject = [
        "objectId": "s1", "createdAt": "2026-01-02T03:04:05.678Z", "title": "Größe one", "plays": 3, "live": true,
        "released": ["__type": "Date", "iso": "2020-05-01T00:00:00.000Z"],
        "tags": ["rock", "Pop", 7, ["a", "b"], ["k": 1]],
        "info": ["a": ["b": [["c": 1], ["c": 2]]], "n": .null],
        "by": ["__type": "Pointer", "className": "Artist", "objectId": "a1"],
        "cover": ["__type": "File", "name": "x.png", "url": "http://h/x.png"],
        "place": ["__type": "GeoPoint", "latitude": 10, "longitude": 20],
        "area": ["__type": "Polygon", "coordinates": [[0, 0], [0, 10], [10, 10], [10, 0], [0, 0]]],
    ]

    private static func matcher(_ condition: String) throws -> FilterMatcher {
        let json = try #require(try JSONValue(parsing: Array(condition.utf8)).objectValue)
        return try FilterMatcher(FilterParser(isMaster: true, now: 1_700_000_000_000).parse(json), of: schema)
    }

    @Test(
        "A song fulfils",
        arguments: [
            #"{}"#, #"{"title":"Größe one"}"#, #"{"title":{"$ne":"x"}}"#, #"{"plays":{"$gt":2,"$lte":3}}"#,
            #"{"live":true}"#, #"{"missing":null}"#, #"{"missing":{"$exists":false}}"#, #"{"title":{"$exists":true}}"#,
            #"{"nothing":{"$nin":[1]}}"#, #"{"released":{"$lt":{"__type":"Date","iso":"2021-01-01T00:00:00.000Z"}}}"#,
            #"{"createdAt":{"$gte":{"__type":"Date","iso":"2026-01-02T03:04:05.678Z"}}}"#,
            #"{"_created_at":{"$lt":"2027-01-01T00:00:00.000Z"}}"#,
            #"{"released":{"$lt":{"$relativeTime":"1 day ago"}}}"#,
            #"{"tags":"rock"}"#, #"{"tags":{"$all":["rock",7]}}"#, #"{"tags":{"$in":["none","Pop"]}}"#,
            #"{"tags.0":"rock"}"#, #"{"tags.k":1}"#, #"{"tags":{"$all":[{"$regex":"^\\Qro\\E"}]}}"#,
            #"{"tags":{"$containedBy":["rock","Pop",7,["a","b"],{"k":1},9]}}"#,
            #"{"info.a.b.c":2}"#, #"{"info.a.b.1.c":{"$gt":1}}"#, #"{"info.n":null}"#, #"{"info.none":null}"#,
            #"{"by":{"__type":"Pointer","className":"Artist","objectId":"a1"}}"#, #"{"by":"a1"}"#,
            #"{"cover":"x.png"}"#, #"{"title":{"$regex":"ONE$","$options":"i"}}"#, #"{"title":{"$regex":"^Gr..e"}}"#,
            #"{"place":{"$nearSphere":{"__type":"GeoPoint","latitude":10,"longitude":21},"$maxDistanceInKilometers":120}}"#,
            #"{"place":{"$within":{"$box":[{"__type":"GeoPoint","latitude":0,"longitude":0},{"__type":"GeoPoint","latitude":20,"longitude":20}]}}}"#,
            #"{"place":{"$geoWithin":{"$centerSphere":[[21,10],0.02]}}}"#,
            #"{"place":{"$geoWithin":{"$polygon":[{"__type":"GeoPoint","latitude":0,"longitude":0},{"__type":"GeoPoint","latitude":0,"longitude":40},{"__type":"GeoPoint","latitude":40,"longitude":20}]}}}"#,
            #"{"area":{"$geoIntersects":{"$point":{"__type":"GeoPoint","latitude":5,"longitude":5}}}}"#,
            #"{"area":{"$geoIntersects":{"$point":{"__type":"GeoPoint","latitude":0,"longitude":5}}}}"#,
            #"{"$or":[{"plays":9},{"live":true}]}"#, #"{"$nor":[{"plays":9},{"live":false}]}"#,
            #"{"$and":[{"plays":3},{"live":true}]}"#,
        ])
    func fulfilled(condition: String) throws {
        #expect(try Self.matcher(condition).matches(Self.song))
    }

    @Test(
        "A song does not fulfil",
        arguments: [
            #"{"title":"größe one"}"#, #"{"title":null}"#, #"{"plays":"3"}"#, #"{"plays":{"$gt":"2"}}"#,
            #"{"missing":"x"}"#, #"{"missing":{"$lt":"z"}}"#, #"{"missing":{"$exists":true}}"#, #"{"nothing":1}"#,
            #"{"released":"no date"}"#, #"{"released":{"$gt":"no date"}}"#, #"{"tags":null}"#, #"{"tags":"a"}"#,
            #"{"tags":{"$all":[]}}"#, #"{"tags":{"$containedBy":["rock"]}}"#,
            #"{"title":{"$containedBy":["Größe one"]}}"#,
            #"{"tags.9":"rock"}"#, #"{"tags.00":"rock"}"#, #"{"title.x":1}"#, #"{"by.objectId":"a1"}"#,
            #"{"cover":"y.png"}"#,
            #"{"title":{"$regex":"ONE$"}}"#, #"{"plays":{"$regex":"3"}}"#,
            #"{"place":{"$nearSphere":{"__type":"GeoPoint","latitude":10,"longitude":21},"$maxDistanceInKilometers":100}}"#,
            #"{"title":{"$nearSphere":{"__type":"GeoPoint","latitude":10,"longitude":21}}}"#,
            #"{"place":{"$geoWithin":{"$centerSphere":[[21,10],0.01]}}}"#,
            #"{"area":{"$geoIntersects":{"$point":{"__type":"GeoPoint","latitude":11,"longitude":5}}}}"#,
            #"{"$or":[{"plays":9},{"live":false}]}"#, #"{"$nor":[{"plays":3}]}"#,
        ])
    func unfulfilled(condition: String) throws {
        #expect(try !Self.matcher(condition).matches(Self.song))
    }

    @Test(
        "What only the database can answer is told before an object is looked at",
        arguments: [
            (#"{"by":{"$inQuery":{"className":"Artist","where":{}}}}"#, "$inQuery"),
            (#"{"by":{"$notInQuery":{"className":"Artist","where":{}}}}"#, "$notInQuery"),
            (#"{"title":{"$select":{"query":{"className":"A"},"key":"k"}}}"#, "$select"),
            (#"{"$or":[{"title":{"$dontSelect":{"query":{"className":"A"},"key":"k"}}}]}"#, "$dontSelect"),
            (#"{"title":{"$text":{"$search":{"$term":"x"}}}}"#, "$text"),
            (#"{"likes":{"__type":"Pointer","className":"_User","objectId":"u"}}"#, "a relation"),
            (#"{"$relatedTo":{"object":{"__type":"Pointer","className":"A","objectId":"a"},"key":"k"}}"#, "$relatedTo"),
        ])
    func needsDatabase(condition: String, name: String) {
        #expect(throws: FilterMatchingError.needsDatabase(name)) { _ = try Self.matcher(condition) }
    }

    @Test("Names compare by their bytes")
    func bytes() throws {
        #expect(try !Self.matcher("{\"tags\":\"\u{212a}\"}").matches(["tags": ["K"]]))
        #expect(try Self.matcher("{\"info.K\":1}").matches(["info": ["K": 1, "\u{212a}": 2]]))
        #expect(try !Self.matcher("{\"title\":\"e\u{301}\"}").matches(["title": "\u{e9}"]))
    }
}
