import Encoding
import Testing

@Suite struct CivilDateTests {
    @Test(
        "Converts between dates and days since 1970-01-01",
        arguments: [
            (CivilDate(year: 1970, month: 1, day: 1), 0), (CivilDate(year: 1969, month: 12, day: 31), -1),
            (CivilDate(year: 2000, month: 2, day: 29), 11_016), (CivilDate(year: 9999, month: 12, day: 31), 2_932_896),
            (CivilDate(year: 0, month: 3, day: 1), -719_468), (CivilDate(year: -400, month: 3, day: 1), -865_565),
        ])
    func known(date: CivilDate, days: Int) {
        #expect(date.daysSince1970 == days)
        #expect(CivilDate(daysSince1970: days) == date)
    }

    @Test("Converts every day of a 400-year leap-year cycle in both directions")
    func everyDay() {
        var date = CivilDate(year: 1899, month: 12, day: 31)
        var wrong = 0
        for days in date.daysSince1970..<date.daysSince1970 + 146_097 {
            if CivilDate(daysSince1970: days) != date || date.daysSince1970 != days { wrong += 1 }
            if date.day < CivilDate.days(inMonth: date.month, of: date.year) {
                date = CivilDate(year: date.year, month: date.month, day: date.day + 1)
            } else if date.month < 12 {
                date = CivilDate(year: date.year, month: date.month + 1, day: 1)
            } else {
                date = CivilDate(year: date.year + 1, month: 1, day: 1)
            }
        }
        #expect(wrong == 0)
    }
}
