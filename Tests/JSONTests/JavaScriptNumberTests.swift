import JSON
import TestTools
import Testing

@Suite("JavaScript number formatting")
struct JavaScriptNumberTests {
    static let lines = JavaScriptNumberTable.text.split(separator: "\n").map(String.init)

    @Test("Formats doubles like JavaScript and reads them back", arguments: lines)
    func table(line: String) throws {
        let fields = line.split(separator: " ")
        let double = Double(bitPattern: try #require(UInt64(fields[0], radix: 16)))
        #expect(JavaScriptNumber.text(double) == fields[1])
        #expect(try JSONValue(parsing: String(fields[1])).numberValue == double)
    }

    @Test("Formats NaN and infinities like JavaScript")
    func notFinite() {
        #expect(JavaScriptNumber.text(.nan) == "NaN")
        #expect(JavaScriptNumber.text(.infinity) == "Infinity")
        #expect(JavaScriptNumber.text(-.infinity) == "-Infinity")
    }

    @Test("Appends numbers to existing text")
    func appending() {
        var writer = JSONWriter()
        writer.byte(UInt8(ascii: "x"))
        JavaScriptNumber.write(-1.5, into: &writer)
        JavaScriptNumber.write(1e21, into: &writer)
        #expect(writer.text == "x-1.51e+21")
    }

    @Test("Writes powers of ten in full up to 21 digits")
    func integers() {
        for exponent in 0...20 {
            let text = "1" + String(repeating: "0", count: exponent)
            #expect(Double(text).map(JavaScriptNumber.text) == text)
            #expect(Double("-" + text).map(JavaScriptNumber.text) == "-" + text)
        }
    }

    @Test("Random doubles read back exactly and have the standard library's digits")
    func shortest() throws {
        var generator = SplitMix64(seed: 5)
        for index in 0..<5_000 {
            let random = generator.next()
            let double =
                index.isMultiple(of: 2)
                ? Double(bitPattern: random) : Double(random >> 20) / [1, 10, 1e3, 1e7, 1e15][index % 5]
            guard double.isFinite else { continue }
            let text = JavaScriptNumber.text(double)
            #expect(Double(text) == double)
            #expect(significantDigits(text) == significantDigits(double.description))
        }
    }

    /// The significant digits, without decimal point, exponent, and leading and trailing zeros.
    private func significantDigits(_ text: String) -> Substring {
        let digits = text.prefix { $0 != "e" }.filter(\.isNumber)[...]
        let trimmed = digits.drop { $0 == "0" }
        return trimmed.dropLast(trimmed.reversed().prefix { $0 == "0" }.count)
    }
}
