/// A day in the proleptic Gregorian calendar.
public struct CivilDate: Sendable, Equatable {
    /// The astronomical year: 0 is 1 BC.
    public let year: Int
    /// The month, from 1 to 12.
    public let month: Int
    /// The day of the month, starting with 1.
    public let day: Int

    /// Creates a day without validating its parts.
    public init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    public static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The number of days since 1970-01-01, by Howard Hinnant's algorithm.
    public var daysSince1970: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Creates the day that is a number of days after 1970-01-01.
    ///
    /// Uses the 32-bit algorithm of Cassio Neri and Lorenz Schneider ("Euclidean affine functions and their application
    /// to calendar algorithms", 2022), whose years begin in March.
    public init(daysSince1970 days: Int) {
        let shifted = days + 719_468
        // Shifts days outside the range of the 32-bit calculation by whole eras of 400 years.
        let era = (0..<1 << 30).contains(shifted) ? 0 : (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let quarters = UInt32(truncatingIfNeeded: shifted - era * 146_097) &* 4 | 3
        let (century, rest) = quarters.quotientAndRemainder(dividingBy: 146_097)
        let product = 2_939_745 * UInt64(rest | 3)
        let dayOfYear = UInt32(truncatingIfNeeded: product) / 2_939_745 / 4
        let monthAndDay = 2141 * dayOfYear + 197_913
        let isNextYear = dayOfYear >= 306
        let marchYear = Int(100 * century + UInt32(truncatingIfNeeded: product >> 32)) + era * 400
        let marchMonth = Int(monthAndDay >> 16)
        year = isNextYear ? marchYear + 1 : marchYear
        month = isNextYear ? marchMonth - 12 : marchMonth
        day = Int((monthAndDay & 0xFFFF) / 2141) + 1
    }
}
