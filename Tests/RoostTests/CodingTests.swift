import Foundation
import Roost
import Testing

/// Conversion between Swift values and Parse's JSON.
@Suite struct CodingTests {
    private struct Everything: Codable, Equatable {
        var text: String
        var number: Int
        var fraction: Double?
        var flag: Bool
        var date: Date
        var bytes: Data
        var list: [Int]
        var members: [String: [String?]]
        var pointer: ParsePointer
        var place: ParseGeoPoint
        var file: ParseFile?
        var link: URL
        var inner: Inner
        var kind: Kind
        var any: JSONValue
    }

    private struct Inner: Codable, Equatable { var a: UInt8 }
    private enum Kind: String, Codable { case first, second }

    private static let everything = Everything(
        text: "é", number: -3, fraction: nil, flag: true, date: Date(timeIntervalSince1970: 1.5), bytes: Data([1, 2]),
        list: [1, 2], members: ["a": ["x", nil]], pointer: ParsePointer("_User", "u1"),
        place: ParseGeoPoint(latitude: 1.5, longitude: -2), file: ParseFile(name: "a.txt", url: "http://x/a.txt"),
        link: URL(string: "https://example.com/a")!, inner: Inner(a: 255), kind: .second, any: ["deep": [1, nil]])

    private static let json: JSONValue = [
        "text": "é", "number": -3, "flag": true, "date": ["__type": "Date", "iso": "1970-01-01T00:00:01.500Z"],
        "bytes": ["__type": "Bytes", "base64": "AQI="], "list": [1, 2], "members": ["a": ["x", nil]],
        "pointer": ["__type": "Pointer", "className": "_User", "objectId": "u1"],
        "place": ["__type": "GeoPoint", "latitude": 1.5, "longitude": -2],
        "file": ["__type": "File", "name": "a.txt", "url": "http://x/a.txt"], "link": "https://example.com/a",
        "inner": ["a": 255], "kind": "second", "any": ["deep": [1, nil]],
    ]

    @Test("Encodes and decodes dates, bytes, pointers, geo points and files with their __type")
    func roundTrip() throws {
        #expect(try ValueEncoder.encode(Self.everything) == Self.json)
        #expect(try ValueDecoder.decode(Everything.self, from: Self.json) == Self.everything)
    }

    private static let values: [JSONValue] = [1, "a", true, nil, [], [1, ["a": nil]]]

    @Test("Encodes and decodes JSON values unchanged", arguments: values)
    func alone(value: JSONValue) throws {
        #expect(try ValueEncoder.encode(value) == value)
        #expect(try ValueDecoder.decode(JSONValue.self, from: value) == value)
    }

    @Test("Encodes plain values, infinity as null, and rejects integers too large for a number")
    func plain() throws {
        #expect(try ValueEncoder.encode("a") == "a")
        #expect(try ValueEncoder.encode(3) == 3)
        #expect(try ValueEncoder.encode([1.5]) == [1.5])
        #expect(try ValueEncoder.encode(Double.infinity) == .null)
        #expect(try ValueEncoder.encode(Int?.none) == .null)
        #expect(try ValueEncoder.encode([String]()) == [])
        #expect(try ValueEncoder.encode([String: Int]()) == [:])
        #expect(throws: EncodingError.self) { try ValueEncoder.encode(Int64.max) }
    }

    @Test("Decodes dates in both of Parse's forms, rejects malformed ones and clamps infinite ones")
    func dates() throws {
        let date = Date(timeIntervalSince1970: 0)
        #expect(try ValueDecoder.decode(Date.self, from: "1970-01-01T00:00:00.000Z") == date)
        #expect(
            try ValueDecoder.decode(Date.self, from: ["__type": "Date", "iso": "1970-01-01T00:00:00.000Z"]) == date)
        for value: JSONValue in [1, "soon", nil, [:], ["iso": 1]] {
            #expect(throws: DecodingError.self) { try ValueDecoder.decode(Date.self, from: value) }
        }
        #expect(try ValueEncoder.encode(Date.distantFuture)["iso"]?.stringValue?.hasPrefix("4001-") == true)
        #expect(try ValueEncoder.encode(Date(timeIntervalSince1970: .infinity))["iso"] == "9999-12-31T23:59:59.999Z")
    }

    private static let misfits: [JSONValue] = [
        ["a": 256], ["a": -1], ["a": 1.5], ["a": "1"], ["a": nil], [:], 1, [],
    ]

    @Test("Rejects values of wrong types, out of range or with fractions", arguments: misfits)
    func misfit(value: JSONValue) {
        #expect(throws: DecodingError.self) { try ValueDecoder.decode(Inner.self, from: value) }
    }
}
