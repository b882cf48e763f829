import JSON
import TestTools
import Testing

@Suite("Numbers as JavaScript writes them")
struct JavaScriptNumberTests {
    static let lines = JavaScriptNumberTable.text.split(separator: "\n").map(String.init)

    @Test("Doubles have the text that JavaScript gives them, and read back from it", arguments: lines)
    func table(line: String) throws {
        let fields = line.split(separator: " ")
        let double = Double(bitPattern: try #require(UInt64(fields[0], radix: 16)))
        #expect(JavaScriptNumber.text(double) == fields[1])
        #expect(try JSONValue(parsing: String(fields[1])).numberValue == double)
    }

    @Test("Numbers that are not finite have JavaScript's names")
    func notFinite() {
        #expect(JavaScriptNumber.text(.nan) == "NaN")
        #expect(JavaScriptNumber.text(.infinity) == "Infinity")
        #expect(JavaScriptNumber.text(-.infinity) == "-Infinity")
    }

    @Test("A number is appended to what is there")
    func appending() {
        var writer = JSONWriter()
        writer.byte(UInt8(ascii: "x"))
        JavaScriptNumber.write(-1.5, into: &writer)
        JavaScriptNumber.write(1e21, into: &writer)
        #expect(writer.text == "x-1.51e+21")
    }

    @Test("Integers are written in full up to 21 digits")
    func integers() {
        for exponent in 0...20 {
            let text = "1" + String(repeating: "0", count: exponent)
            #expect(Double(text).map(JavaScriptNumber.text) == text)
            #expect(Double("-" + text).map(JavaScriptNumber.text) == "-" + text)
        }
    }

    @Test("Random doubles read back from their text, which is never longer than the standard library's digits")
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
