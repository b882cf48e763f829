public import JSON
public import ParseModel

/// When a job is to run: a row of `_JobSchedule`, as Parse Dashboard writes it. All times are UTC, in whole minutes.
public struct JobSchedule: Sendable {
    /// The id of the row.
    public let objectId: String
    /// The job.
    public let jobName: Name
    /// Its parameters.
    public let parameters: JSONObject
    /// When it ran last, in milliseconds since 1970, as the row has it.
    public let lastRun: Double?
    /// The first minute in which it may run.
    private let start: Int64
    /// The minute of the day of the day's first run.
    private let minuteOfDay: Int64
    /// The days of the week on which it runs, from Monday.
    private let days: [Bool]
    /// Minutes between two runs, or nil if it runs once.
    private let interval: Int64?

    /// Why a row is no schedule.
    public struct Unreadable: Error {
        /// Why it is invalid.
        public let reason: String
    }

    /// - Throws: ``Unreadable``.
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
        guard minutes.isFinite, minutes < 1e9 else { throw fail("repeatMinutes must be a number of minutes") }
        interval = minutes >= 1 ? Int64(minutes) : nil
    }

    /// Whether the job is to run now: a time of the schedule has come since it ran last. Times at which no process was
    /// there count as one.
    public func isDue(at now: ParseDate) -> Bool {
        guard let time = latest(until: Self.minute(now.milliseconds)) else { return false }
        guard let lastRun else { return true }
        return Double(time * 60_000) > lastRun
    }

    /// The latest time of the schedule up to a minute; nil when there was none.
    func latest(until now: Int64) -> Int64? {
        guard now >= start else { return nil }
        guard let interval else { return start }
        // Who repeats less than daily counts days from the first on.
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

    /// 0 is Monday; 1970 began on a Thursday.
    private static func weekday(_ day: Int64) -> Int64 { ((day + 3) % 7 + 7) % 7 }

    private static func parameters(_ value: JSONValue) throws(Unreadable) -> JSONObject {
        switch value {
        case .null, .string(""): return [:]
        case .object(let object): return object
        case .string(let text):
            if let object = try? JSONValue(parsing: Array(text.utf8)).objectValue { return object }
        default: break
        }
        throw Unreadable(reason: "params is no JSON object")
    }

    private static func minuteOfDay(_ value: JSONValue) throws(Unreadable) -> Int64 {
        if value.isNull || value == "" { return 0 }
        guard let date = value.stringValue.flatMap({ ParseDate(iso: "1970-01-02T\($0)") }) else {
            throw Unreadable(reason: "timeOfDay is no time")
        }
        return minute(date.milliseconds) % 1440
    }

    /// Accepts numbers, texts and booleans: Parse Dashboard writes numbers, others texts.
    private static func days(_ value: JSONValue) throws(Unreadable) -> [Bool] {
        if value.isNull || value == [] { return Array(repeating: true, count: 7) }
        guard let list = value.arrayValue, list.count == 7 else {
            throw Unreadable(reason: "daysOfWeek is no list of seven")
        }
        return list.map { ![.bool(false), .null, .number(0), .string("0"), .string("")].contains($0) }
    }
}
