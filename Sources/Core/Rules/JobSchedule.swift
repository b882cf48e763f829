public import JSON
public import ParseModel

/// A job's schedule: a row of `_JobSchedule` as written by Parse Dashboard. Scheduled times are UTC, in whole minutes.
public struct JobSchedule: Sendable {
    /// The id of the `_JobSchedule` row.
    public let objectId: String
    public let jobName: Name
    public let parameters: JSONObject
    /// The time of the last run in milliseconds since 1970, or nil if the job hasn't run yet.
    public let lastRun: Double?
    /// The earliest time of a run, in minutes since 1970.
    private let start: Int64
    /// The time of the first run each day, in minutes after midnight.
    private let minuteOfDay: Int64
    /// Whether the job runs, for each day of the week, starting with Monday.
    private let days: [Bool]
    /// The interval between two runs in minutes, or nil if the job runs once.
    private let interval: Int64?

    /// The error for a row that isn't a valid schedule.
    public struct Unreadable: Error {
        public let reason: String
    }

    /// - Throws: ``Unreadable`` if the row is invalid.
    public init(_ row: JSONObject) throws(Unreadable) {
        func fail(_ reason: String) -> Unreadable { Unreadable(reason: reason) }
        guard let objectId = row["objectId"]?.stringValue, let jobName = row["jobName"]?.nameValue else {
            throw fail("jobName is required")
        }
        self.objectId = objectId
        self.jobName = jobName
        lastRun = row["lastRun"]?.numberValue
        parameters = try Self.parameters(row["params"] ?? .null)
        if let text = row["startAfter"], !text.isNull, text != "" {
            guard let date = text.stringValue.flatMap(ParseDate.init(iso:)) else {
                throw fail("startAfter must be a date")
            }
            start = Self.minute(date.milliseconds + 59_999)
        } else {
            start = 0
        }
        minuteOfDay = try Self.minuteOfDay(row["timeOfDay"] ?? .null)
        days = try Self.days(row["daysOfWeek"] ?? .null)
        let minutes = row["repeatMinutes"]?.numberValue ?? 0
        guard minutes.isFinite, minutes < 1e9 else { throw fail("repeatMinutes must be less than 1000000000") }
        interval = minutes >= 1 ? Int64(minutes) : nil
    }

    /// Whether the job must run now, because a scheduled time has passed since its last run. Several missed times cause
    /// only one run.
    public func isDue(at now: ParseDate) -> Bool {
        guard let time = latest(until: Self.minute(now.milliseconds)) else { return false }
        guard let lastRun else { return true }
        return Double(time * 60_000) > lastRun
    }

    /// Returns the latest scheduled time up to a minute, or nil if none has passed. Both are in minutes since 1970.
    func latest(until now: Int64) -> Int64? {
        guard now >= start else { return nil }
        guard let interval else { return start }
        // Intervals of a day or more are rounded down to whole days, and counted from the first day.
        let step = max(1, interval / 1440)
        let (today, first) = (Self.day(now), Self.day(start))
        var day = first + (today - first) / step * step
        for _ in 0..<8 where day >= first {
            if days[Int(Self.weekday(day))] {
                let base = day * 1440 + minuteOfDay
                if base <= now {
                    let last = min(now, day * 1440 + 1439)
                    let time = interval < 1440 ? base + (last - base) / interval * interval : base
                    return time >= start ? time : nil
                }
            }
            day -= step
        }
        return nil
    }

    private static func minute(_ milliseconds: Int64) -> Int64 { floored(milliseconds, 60_000) }
    private static func day(_ minute: Int64) -> Int64 { floored(minute, 1440) }
    private static func floored(_ value: Int64, _ divisor: Int64) -> Int64 {
        let (quotient, rest) = value.quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? quotient - 1 : quotient
    }

    /// Returns 0 for Monday. 1970-01-01 was a Thursday.
    private static func weekday(_ day: Int64) -> Int64 { ((day + 3) % 7 + 7) % 7 }

    private static func parameters(_ value: JSONValue) throws(Unreadable) -> JSONObject {
        switch value {
        case .null, .string(""): return [:]
        case .object(let object): return object
        case .string(let text):
            if let object = try? JSONValue(parsing: text).objectValue { return object }
        default: break
        }
        throw Unreadable(reason: "params must be a JSON object")
    }

    private static func minuteOfDay(_ value: JSONValue) throws(Unreadable) -> Int64 {
        if value.isNull || value == "" { return 0 }
        guard let date = value.stringValue.flatMap({ ParseDate(iso: "1970-01-02T\($0)") }) else {
            throw Unreadable(reason: "timeOfDay must be a time such as 03:30")
        }
        return minute(date.milliseconds) % 1440
    }

    /// Accepts numbers, strings and booleans, because only Parse Dashboard writes numbers.
    private static func days(_ value: JSONValue) throws(Unreadable) -> [Bool] {
        if value.isNull || value == [] { return Array(repeating: true, count: 7) }
        guard let list = value.arrayValue, list.count == 7 else {
            throw Unreadable(reason: "daysOfWeek must be an array of seven values")
        }
        return list.map { ![.bool(false), .null, .number(0), .string("0"), .string("")].contains($0) }
    }
}
