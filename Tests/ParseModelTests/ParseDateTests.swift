import ParseModel
import Testing

@Suite("Parse dates")
struct ParseDateTests {
    @Test(
        "Converts between ISO dates and milliseconds",
        arguments: [
            ("1970-01-01T00:00:00.000Z", Int64(0)),
            ("1970-01-01T00:00:00.001Z", 1),
            ("1969-12-31T23:59:59.999Z", -1),
            ("2000-02-29T12:00:00.000Z", 951_825_600_000),
            ("2000-03-01T00:00:00.000Z", 951_868_800_000),
            ("1900-03-01T00:00:00.000Z", -2_203_891_200_000),
            ("2024-02-29T23:59:59.999Z", 1_709_251_199_999),
            ("2038-01-19T03:14:08.000Z", 2_147_483_648_000),
            ("0001-01-01T00:00:00.000Z", -62_135_596_800_000),
            ("0000-01-01T00:00:00.000Z", -62_167_219_200_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
            ("-000001-01-01T00:00:00.000Z", -62_198_755_200_000),
            ("+010000-01-01T00:00:00.000Z", 253_402_300_800_000),
            ("-271821-04-20T00:00:00.000Z", -8_640_000_000_000_000),
            ("+275760-09-13T00:00:00.000Z", 8_640_000_000_000_000),
        ])
    func pairs(text: String, milliseconds: Int64) {
        #expect(ParseDate(milliseconds: milliseconds).iso == text)
        #expect(ParseDate(iso: text)?.milliseconds == milliseconds)
    }

    @Test(
        "Reads any precision and time zone",
        arguments: [
            ("2020-05-06", "2020-05-06T00:00:00.000Z"),
            ("2020-05-06T07:08Z", "2020-05-06T07:08:00.000Z"),
            ("2020-05-06T07:08:09Z", "2020-05-06T07:08:09.000Z"),
            ("2020-05-06T07:08:09", "2020-05-06T07:08:09.000Z"),
            ("2020-05-06 07:08:09Z", "2020-05-06T07:08:09.000Z"),
            ("2020-05-06t07:08:09z", "2020-05-06T07:08:09.000Z"),
            ("2020-05-06T07:08:09.5Z", "2020-05-06T07:08:09.500Z"),
            ("2020-05-06T07:08:09,05Z", "2020-05-06T07:08:09.050Z"),
            ("2020-05-06T07:08:09.123456789Z", "2020-05-06T07:08:09.123Z"),
            ("2020-05-06T07:08:09.999999Z", "2020-05-06T07:08:09.999Z"),
            ("2020-05-06T07:08:09+02:00", "2020-05-06T05:08:09.000Z"),
            ("2020-05-06T07:08:09-0530", "2020-05-06T12:38:09.000Z"),
            ("2020-05-06T07:08:09+02", "2020-05-06T05:08:09.000Z"),
            ("2020-01-01T00:00:00+14:00", "2019-12-31T10:00:00.000Z"),
            ("2020-12-31T24:00:00Z", "2021-01-01T00:00:00.000Z"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"),
        ])
    func forms(text: String, iso: String) {
        #expect(ParseDate(iso: text)?.iso == iso)
    }

    @Test(
        "Rejects malformed and nonexistent dates",
        arguments: [
            "", "2020", "2020-05", "2020-13-01", "2020-00-01", "2020-01-00", "2020-01-32", "2021-02-29", "1900-02-29",
            "2020-04-31", "2020-05-06T", "2020-05-06T25:00:00Z", "2020-05-06T24:00:01Z", "2020-05-06T07",
            "2020-05-06T07:60:00Z",
            "2020-05-06T07:08:61Z", "2020-05-06T07:08:09.Z", "2020-05-06T07:08:09X", "2020-05-06T07:08:09Zx",
            "2020-05-06T07:08:09+", "2020-05-06T07:08:09+2:00", "2020-05-06T07:08:09+25:00", "20200506", "06.05.2020",
            "tomorrow",
            "2020-05-06T07:08:09Z\0", "２０２０-05-06", "+2020-05-06", "-0001-01-01",
            "2020-05-06T07:08:09.123Z; DROP TABLE x",
        ])
    func refusals(text: String) {
        #expect(ParseDate(iso: text) == nil)
    }

    @Test("Follows the Gregorian leap-year rule")
    func leapYears() {
        for (year, isLeap) in [
            "1600": true, "1700": false, "1900": false, "2000": true, "2023": false, "2024": true, "2100": false,
        ] {
            #expect((ParseDate(iso: "\(year)-02-29") != nil) == isLeap)
        }
    }

    @Test("Random dates round-trip through ISO text")
    func roundTrips() {
        for _ in 0..<20_000 {
            let date = ParseDate(milliseconds: Int64.random(in: -8_640_000_000_000_000...8_640_000_000_000_000))
            #expect(ParseDate(iso: date.iso) == date)
        }
    }

    @Test("Each day's text sorts after the previous day's, for four centuries")
    func days() {
        var previous = ParseDate(milliseconds: -11_676_096_000_000).iso
        for day in -135_139..<(-135_139 + 146_097) {
            let iso = ParseDate(milliseconds: Int64(day) * 86_400_000).iso
            #expect(previous < iso)
            #expect(iso.hasSuffix("T00:00:00.000Z"))
            previous = iso
        }
    }

    @Test("Formats even the earliest and latest representable dates", arguments: [Int64.min, .min + 1, .max])
    func ends(milliseconds: Int64) {
        #expect(ParseDate(milliseconds: milliseconds).iso.hasSuffix("Z"))
    }

    @Test("Dates are ordered by time and encoded as Date objects")
    func order() {
        #expect(ParseDate(milliseconds: -5) < ParseDate(milliseconds: 3))
        #expect(ParseDate(milliseconds: 0).json == ["__type": "Date", "iso": "1970-01-01T00:00:00.000Z"])
    }
}
