import HTTP
import JSON
import REST
import Testing

@Suite struct FormEncodingTests {
    @Test("Collects the values of a repeated name in an array, in order")
    func repeated() {
        #expect(FormEncoding.values("a=1&b=x&a=[2,3]&a") == ["a": [1, [2, 3], ""], "b": "x"])
        #expect(FormEncoding.values("a=[1]") == ["a": [1]])
        #expect(FormEncoding.strings("a=[1]&a=2&=x&&") == ["a": ["[1]", "2"]])
    }

    @Test("Decodes names and values, and keeps malformed percent-encoding")
    func decoding() {
        #expect(FormEncoding.strings("a%20b=1+2&c=%zz") == ["a b": "1 2", "c": "%zz"])
    }

    @Test("Parses half a million repetitions of a name quickly")
    func manyRepetitions() {
        let text = String(repeating: "a&", count: 500_000)
        let start = ContinuousClock.now
        #expect(FormEncoding.strings(text)["a"]?.arrayValue?.count == 500_000)
        #expect(ContinuousClock.now - start < .seconds(30))
    }
}
