import Foundation
import JSON
import Migration
import TestSupport
import Testing

/// Invalid coordinates in old databases, in MongoDB's format and in that of the REST API.
@Suite struct ImportedPlaceTests {
    /// Objects of the class `Spot`, which has a GeoPoint `g` and a polygon `q`.
    private static let objects = [
        #"{"_id":"m1","g":[13.4,52.5],"q":{"type":"Polygon","coordinates":[[[0,0],[180,0],[0,-90],[0,0]]]}}"#,
        #"{"_id":"m2","g":[-180,90]}"#,
        #"{"_id":"m3","g":[180.5,0]}"#,
        #"{"_id":"m4","g":[0,-91]}"#,
        #"{"_id":"m5","g":[{"$numberDouble":"NaN"},0]}"#,
        #"{"_id":"m6","g":[0,{"$numberDouble":"Infinity"}]}"#,
        #"{"_id":"m7","g":{"__type":"GeoPoint","latitude":0,"longitude":-181}}"#,
        #"{"_id":"m8","q":{"type":"Polygon","coordinates":[[[0,0],[10,0],[10,91],[0,0]]]}}"#,
        #"{"_id":"m9","q":{"type":"Polygon","coordinates":[[[0,0],[10,0],[{"$numberDouble":"NaN"},1],[0,0]]]}}"#,
        #"{"objectId":"r1","g":{"__type":"GeoPoint","latitude":1,"longitude":1}}"#,
        #"{"objectId":"r2","g":{"__type":"GeoPoint","latitude":200,"longitude":0}}"#,
        #"{"objectId":"r3","q":{"__type":"Polygon","coordinates":[[0,0],[0,10],[95,10],[0,0]]}}"#,
    ]

    @Test("Leaves out and reports coordinates out of range, and near queries find the valid points")
    func places() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                try folder.write("_SCHEMA.json", #"{"_id":"Spot","g":"geopoint","q":"polygon"}"#)
                try folder.write("Spot.json", Self.objects.joined(separator: "\n"))
                let report = try await folder.load(into: server)
                #expect(report.exitCode == 2 && report.classes.map(\.rows) == [12], "\(report.json.text)")
                let rejects = try folder.rejects()
                let point = "a GeoPoint that is out of range"
                let polygon = "a polygon with a corner that is out of range"
                let told = rejects.map { line in
                    [line["id"], line["field"], line["reason"]].map { $0?.stringValue ?? "-" }.joined(separator: " ")
                }
                #expect(
                    told == [
                        "m3 g \(point)", "m4 g \(point)", "m5 g \(point)", "m6 g \(point)", "m7 g \(point)",
                        "m8 q \(polygon)", "m9 q \(polygon)", "r2 g \(point)", "r3 q \(polygon)",
                    ])
                #expect(rejects.first?["value"] == [180.5, 0])
                #expect(try await server.row("Spot", "m1")["q"] == "((0,0),(180,0),(0,-90),(0,0))")
                let center: JSONValue = ["__type": "GeoPoint", "latitude": 52.5, "longitude": 13.4]
                let near = try await server.find("Spot", ["where": ["g": ["$nearSphere": center]]])
                #expect(near.results.map { $0["objectId"] } == ["m1", "m2", "r1"], "\(near.text)")
            }
        }
    }
}
