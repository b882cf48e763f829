import HTTP
import JSON
import REST
import Testing

/// Parameter names in brackets, by the rules of the library `qs`.
@Suite struct BracketedNamesTests {
    @Test(
        "Parses bracketed names as objects and arrays",
        arguments: [
            ("a[b]=c", #"{"a":{"b":"c"}}"#), ("a[b][c]=d", #"{"a":{"b":{"c":"d"}}}"#),
            ("a[]=b&a[]=c", #"{"a":["b","c"]}"#), ("a[1]=c&a[0]=b", #"{"a":["b","c"]}"#),
            ("a[20]=b", #"{"a":["b"]}"#), ("a[21]=b", #"{"a":{"21":"b"}}"#), ("a[01]=b", #"{"a":{"01":"b"}}"#),
            ("a[0][b]=c", #"{"a":[{"b":"c"}]}"#), ("a[b]=c&a[b]=d", #"{"a":{"b":["c","d"]}}"#),
            ("a=1&a[b]=2", #"{"a":[1,{"b":"2"}]}"#), ("a[b]=1", #"{"a":{"b":"1"}}"#), ("a=1&a=2", #"{"a":[1,2]}"#),
            ("a[b][c][d][e][f][g][h]=i", #"{"a":{"b":{"c":{"d":{"e":{"f":{"[g][h]":"i"}}}}}}}"#),
            ("a[b", #"{"a[b":""}"#), ("[a]=b", #"{"[a]":"b"}"#), ("a]=b", #"{"a]":"b"}"#),
            ("a[b]c=d", #"{"a":{"b":"d"}}"#), ("a[-1]=b", #"{"a":{"-1":"b"}}"#),
        ])
    func names(query: String, object: String) throws {
        #expect(JSONValue.object(FormEncoding.values(query)) == (try JSONValue(parsing: Array(object.utf8))))
    }

    @Test("Parses many bracketed names in linear time")
    func cost() {
        func seconds(_ count: Int) -> Double {
            let text = (0..<count).map { "a[\($0)][b][c]=\($0)" }.joined(separator: "&")
            // The quickest of three, since other tests run meanwhile.
            let durations = (0..<3).map { _ in ContinuousClock().measure { _ = FormEncoding.values(text) } }
            return (durations.min() ?? .zero) / .seconds(1)
        }
        _ = seconds(1000)
        #expect(seconds(40_000) < max(seconds(5_000), 0.002) * 30)
    }
}
