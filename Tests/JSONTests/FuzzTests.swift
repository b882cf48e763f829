import JSON
import TestTools
import Testing

@Suite("Random JSON documents")
struct FuzzTests {
    static let documents: [[UInt8]] = [
        #"{"results":[{"objectId":"Ed1nuqPvcm","score":1337,"playerName":"Sean \"P\" é😀","cheat":false,"x":null}]}"#,
        #"{"where":{"$or":[{"wins":{"$gt":150}},{"wins":{"$lt":5.25e-3}}]},"limit":0,"order":"-createdAt","keys":""}"#,
        #"[[],{},[[]],[{}],-0.0,1e21,123456789012345678901234567890,"\u0000\ud83d\ude00\ud800\/\\",true,false,null]"#,
        #"  { "a" : [ 1 , 2.50 , -3E+2 ] , "b" : { "c" : "\b\f\n\r\t" } , "a" : "日本語" }  "#,
        #"{"__type":"GeoPoint","latitude":37.33233141,"longitude":-122.0312186,"n":[0.1,1e-7,5e-324,1.5e300]}"#,
    ].map { Array($0.utf8) }

    /// Bytes with a meaning in JSON, so that mutations get past the parser's first checks.
    static let meaningful =
        Array("{}[]\",:\\/ntfu0123456789abdeE+-. \n".utf8) + [0x00, 0x1F, 0x7F, 0x80, 0xC3, 0xED, 0xF0, 0xFF]

    private func mutated(_ document: [UInt8], by generator: inout SplitMix64) -> [UInt8] {
        var bytes = document
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            let place = Int.random(in: 0..<max(bytes.count, 1), using: &generator)
            guard place < bytes.count else { break }
            let byte = Self.meaningful.randomElement(using: &generator) ?? 0
            switch Int.random(in: 0..<7, using: &generator) {
            case 0: bytes[place] = byte
            case 1: bytes[place] = UInt8.random(in: 0...255, using: &generator)
            case 2: bytes.insert(byte, at: place)
            case 3: bytes.remove(at: place)
            case 4: bytes.removeSubrange(place..<min(place + 8, bytes.count))
            case 5: bytes.insert(contentsOf: bytes[place..<min(place + 12, bytes.count)], at: place)
            default: bytes.removeLast(min(bytes.count, Int.random(in: 1...16, using: &generator)))
            }
        }
        return bytes
    }

    @Test("Survives 20,000 mutated documents, and values read from them round-trip")
    func mutations() throws {
        var generator = SplitMix64(seed: 1)
        var readCount = 0
        for index in 0..<20_000 {
            let bytes = mutated(Self.documents[index % Self.documents.count], by: &generator)
            guard let value = try? JSONValue(parsing: bytes) else { continue }
            readCount += 1
            let serialized = value.serialized()
            let again = try JSONValue(parsing: serialized)
            if again != value || again.serialized() != serialized {
                Issue.record("a document changes on its way: \(String(decoding: bytes, as: UTF8.self))")
            }
        }
        #expect(readCount > 500)
    }

    @Test("Error offsets always lie within the document")
    func errorOffsets() {
        var generator = SplitMix64(seed: 2)
        for index in 0..<5_000 {
            let bytes = mutated(Self.documents[index % Self.documents.count], by: &generator)
            do {
                _ = try JSONValue(parsing: bytes)
            } catch {
                if !(0...bytes.count).contains(error.offset) { Issue.record("\(error) in \(bytes.count) bytes") }
            }
        }
    }

    private func randomValue(depth: Int, using generator: inout SplitMix64) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 7 : 5), using: &generator) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &generator))
        case 2: return .number(Double(Int.random(in: -1_000_000...1_000_000, using: &generator)))
        case 3:
            let double = Double(bitPattern: generator.next())
            return .number(double.isFinite ? double : 0.1)
        case 4: return .string(randomString(using: &generator))
        case 5:
            let count = Int.random(in: 0..<5, using: &generator)
            return .array((0..<count).map { _ in randomValue(depth: depth - 1, using: &generator) })
        default:
            var members = JSONObject()
            for _ in 0..<Int.random(in: 0..<20, using: &generator) {
                members[randomString(using: &generator)] = randomValue(depth: depth - 1, using: &generator)
            }
            return .object(members)
        }
    }

    private func randomString(using generator: inout SplitMix64) -> String {
        let greatest: UInt32 = [0x7F, 0xFF, 0xFFFF, 0x10FFFF].randomElement(using: &generator) ?? 0x7F
        let scalars = (0..<Int.random(in: 0..<20, using: &generator)).map { _ in
            Unicode.Scalar(UInt32.random(in: 0...greatest, using: &generator)) ?? "\u{FFFD}"
        }
        return String(String.UnicodeScalarView(scalars))
    }

    @Test("Random values round-trip through JSON text")
    func roundTrips() throws {
        var generator = SplitMix64(seed: 3)
        for _ in 0..<500 {
            let value = randomValue(depth: 3, using: &generator)
            let serialized = value.serialized()
            let again = try JSONValue(parsing: serialized)
            if again != value || again.serialized() != serialized { Issue.record("\(value) became \(again)") }
        }
    }
}
