import JSON
import TestTools
import Testing

@Suite("Reading JSON numbers")
struct NumberReadingTests {
    @Test(
        "Reads every form of number",
        arguments: [
            ("0", 0), ("-0", -0.0), ("0.0", 0), ("-0.0", -0.0), ("1", 1), ("-1", -1), ("10", 10), ("1.5", 1.5),
            ("0.1", 0.1),
            ("-0.001", -0.001), ("1e2", 100), ("1E2", 100), ("1e+2", 100), ("1e-2", 0.01), ("1.25e2", 125),
            ("0e0", 0), ("0e999999999999", 0), ("-0e-999999999999", -0.0), ("1e00002", 100), ("1.50", 1.5),
            ("100e-2", 1),
            ("123456789.987654321", 123456789.987654321), ("1e-400", 0), ("4.9e-324", .leastNonzeroMagnitude),
            ("2.4e-324", 0),
            ("1.7976931348623157e308", .greatestFiniteMagnitude), ("2.2250738585072014e-308", .leastNormalMagnitude),
            ("2.2250738585072011e-308", Double.leastNormalMagnitude.nextDown),
        ] as [(String, Double)])
    func forms(text: String, value: Double) throws {
        let read = try #require(try JSONValue(parsing: text).numberValue)
        #expect(read.bitPattern == value.bitPattern)
        #expect(try JSONValue(parsing: "[\(text) ,1]") == [.number(value), 1])
    }

    @Test("Reads integers up to 2^53 exactly")
    func exactIntegers() throws {
        for integer in [9_007_199_254_740_991, 9_007_199_254_740_992, -9_007_199_254_740_992, 4_503_599_627_370_497] {
            #expect(try JSONValue(parsing: "\(integer)") == .number(Double(integer)))
        }
    }

    @Test(
        "Rounds longer numbers to the nearest double",
        arguments: [
            ("9007199254740993", 9_007_199_254_740_992), ("9007199254740995", 9_007_199_254_740_996),
            ("18446744073709551615", 18_446_744_073_709_551_616), ("18446744073709551617", 18_446_744_073_709_551_616),
            ("9999999999999999999", 1e19), ("99999999999999999999", 1e20), ("0.30000000000000004", 0.1 + 0.2),
            ("3.141592653589793238462643383279502884197", 0x1.921fb54442d18p+1),
            ("1.00000000000000011102230246251565404236316680908203125", 1),
            ("1.00000000000000011102230246251565404236316680908203126", 0x1.0000000000001p+0),
            ("8.41e21", 8.41e21), ("9.5e-23", 9.5e-23), ("1e23", 1e23), ("9007199254740993e1", 90_071_992_547_409_936),
        ] as [(String, Double)])
    func nearest(text: String, value: Double) throws {
        #expect(try JSONValue(parsing: text).numberValue == value)
    }

    @Test("Long runs of zeros don't change a number")
    func zeros() throws {
        let zeros = String(repeating: "0", count: 400)
        #expect(try JSONValue(parsing: "1.5\(zeros)") == 1.5)
        #expect(try JSONValue(parsing: "0.\(zeros)15e401") == 1.5)
        #expect(try JSONValue(parsing: "15\(zeros)e-401") == 1.5)
    }

    @Test("Reads random numbers with the same result as the standard library")
    func agreesWithStandardLibrary() throws {
        var generator = SplitMix64(seed: 11)
        for _ in 0..<5_000 {
            let double = Double(bitPattern: generator.next())
            guard double.isFinite else { continue }
            #expect(try JSONValue(parsing: double.description) == .number(double))
            let digits = Int(generator.next() % 1_000_000_000_000_000) >> Int(generator.next() % 48)
            let text = "\(digits / 1000).\(digits % 1000)e\(Int(generator.next() % 50) - 25)"
            #expect(try JSONValue(parsing: text).numberValue == Double(text))
        }
    }
}
