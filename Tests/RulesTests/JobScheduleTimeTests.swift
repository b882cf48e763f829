import JSON
import ParseModel
import Rules
import Testing

/// The due times of schedules. 2026-03-02 is a Monday.
@Suite struct JobScheduleTimeTests {
    private static let hourly: JSONObject = [
        "startAfter": "2026-03-02T00:00:00.000Z", "timeOfDay": "08:30:00.000Z", "repeatMinutes": 60,
    ]
    private static let daily: JSONObject = ["timeOfDay": "23:00:00.000Z", "repeatMinutes": 1440]
    private static let once: JSONObject = ["startAfter": "2026-03-02T08:00:20.000Z"]
    private static let weekend: JSONObject = [
        "daysOfWeek": ["0", "0", "0", "0", "0", "1", "1"], "timeOfDay": "10:00:00.000Z", "repeatMinutes": 720,
    ]
    private static let thirdDays: JSONObject = [
        "startAfter": "2026-03-02T00:00:00Z", "timeOfDay": "12:00", "repeatMinutes": 4320,
    ]

    /// A schedule, its last run, the current time, and whether it is due.
    private static let cases: [(schedule: JSONObject, last: String?, now: String, isDue: Bool)] = [
        (hourly, nil, "2026-03-02T08:29:59Z", false), (hourly, nil, "2026-03-02T08:30:00Z", true),
        (hourly, "2026-03-02T08:30:04Z", "2026-03-02T09:29:59Z", false),
        (hourly, "2026-03-02T08:30:04Z", "2026-03-02T09:30:00Z", true),
        (hourly, "2026-03-02T08:30:00Z", "2026-03-02T08:30:30Z", false),
        // Missed runs count as one. The day ends at midnight.
        (hourly, "2026-03-02T08:30:04Z", "2026-03-02T23:59:00Z", true),
        (hourly, "2026-03-02T23:30:04Z", "2026-03-03T08:29:00Z", false),
        (hourly, "2026-03-02T23:30:04Z", "2026-03-03T08:30:00Z", true),
        (hourly, "2026-03-02T22:40:00Z", "2026-03-03T05:00:00Z", true),
        // If the clock is set back, nothing runs twice.
        (hourly, "2026-03-02T12:00:00Z", "2026-03-02T10:30:00Z", false),
        (daily, "2026-03-01T23:00:01Z", "2026-03-02T22:59:00Z", false),
        (daily, "2026-03-01T23:00:01Z", "2026-03-02T23:00:00Z", true),
        (once, nil, "2026-03-02T08:00:59Z", false), (once, nil, "2026-03-02T08:01:00Z", true),
        (once, nil, "2027-01-01T00:00:00Z", true), (once, "2026-03-02T08:01:03Z", "2027-01-01T00:00:00Z", false),
        // Moving the start into the future leads to one more run.
        (once, "2026-03-01T00:00:00Z", "2026-03-02T08:01:00Z", true),
        (weekend, "2026-03-01T22:00:00Z", "2026-03-06T23:59:00Z", false),
        (weekend, "2026-03-01T22:00:00Z", "2026-03-07T10:00:00Z", true),
        (weekend, "2026-03-07T10:00:00Z", "2026-03-07T22:00:00Z", true),
        (thirdDays, "2026-03-02T12:00:00Z", "2026-03-04T23:00:00Z", false),
        (thirdDays, "2026-03-02T12:00:00Z", "2026-03-05T12:00:00Z", true),
        (["repeatMinutes": 1, "daysOfWeek": [0, 0, 0, 0, 0, 0, 0]], nil, "2026-03-02T08:00:00Z", false),
        (["startAfter": "", "timeOfDay": "", "daysOfWeek": [], "params": ""], nil, "2026-03-02T08:00:00Z", true),
        (["repeatMinutes": 0.5], nil, "1969-12-31T23:59:00Z", false),
        // The offset of a time of day is applied.
        (
            ["repeatMinutes": 1440, "timeOfDay": "01:00:00+02:00", "startAfter": "2026-03-02T00:00:00Z"], nil,
            "2026-03-02T22:59:00Z", false
        ),
        (
            ["repeatMinutes": 1440, "timeOfDay": "01:00:00+02:00", "startAfter": "2026-03-02T00:00:00Z"], nil,
            "2026-03-02T23:00:00Z", true
        ),
    ]

    @Test("A schedule is due if one of its times has passed since its last run", arguments: 0..<cases.count)
    func times(index: Int) throws {
        let (schedule, last, now, isDue) = Self.cases[index]
        var row = schedule
        row["objectId"] = "s"
        row["jobName"] = "j"
        if let last { row["lastRun"] = .number(Double(try #require(ParseDate(iso: last)).milliseconds)) }
        let date = try #require(ParseDate(iso: now))
        #expect(try JobSchedule(row).isDue(at: date) == isDue, "\(JSONValue.object(row)) at \(now)")
    }

    @Test(
        "Explains why a schedule is invalid",
        arguments: [
            (["params": "["], "params must be a JSON object"), (["params": "[]"], "params must be a JSON object"),
            (["startAfter": 5], "startAfter must be a date"),
            (["timeOfDay": "25:00"], "timeOfDay must be a time such as 03:30"),
            (["daysOfWeek": [1]], "daysOfWeek must be an array of seven values"),
            (["repeatMinutes": 1e300], "repeatMinutes must be less than 1000000000"),
        ] as [(JSONObject, String)])
    func unreadable(fields: JSONObject, reason: String) {
        var row = fields
        row["objectId"] = "s"
        row["jobName"] = "j"
        let error = #expect(throws: JobSchedule.Unreadable.self) { try JobSchedule(row) }
        #expect(error?.reason == reason)
    }

    @Test(
        "Rejects a schedule without an id or a job name",
        arguments: [[:], ["objectId": "s"], ["jobName": "j"], ["objectId": 1, "jobName": "j"]] as [JSONObject])
    func nameless(row: JSONObject) {
        let error = #expect(throws: JobSchedule.Unreadable.self) { try JobSchedule(row) }
        #expect(error?.reason == "jobName is required")
    }

    @Test(
        "Reads job parameters from an object or a JSON string",
        arguments: [
            (["a": [1]], ["a": [1]]), (#"{"a":[1]}"#, ["a": [1]]), ("", [:]), (.null, [:]), ([:], [:]),
        ] as [(JSONValue, JSONObject)])
    func parameters(value: JSONValue, parameters: JSONObject) throws {
        let schedule = try JobSchedule(["objectId": "s", "jobName": "\u{212A}", "params": value, "lastRun": 5])
        #expect(schedule.parameters == parameters)
        #expect(schedule.objectId == "s")
        #expect(schedule.jobName == "\u{212A}")
        #expect(schedule.jobName != "K")
        #expect(schedule.lastRun == 5)
        #expect(try JobSchedule(["objectId": "s", "jobName": "j"]).parameters == [:])
    }

    @Test(
        "Ignores days of the week that are false, null, zero or empty",
        arguments: [
            (true, true), (1, true), ("1", true), (false, false), (0, false), ("0", false), ("", false), (.null, false),
        ]
            as [(JSONValue, Bool)])
    func days(day: JSONValue, counts: Bool) throws {
        // The first of the seven days is Monday.
        let schedule = try JobSchedule([
            "objectId": "s", "jobName": "j", "repeatMinutes": 1440, "daysOfWeek": [day, 0, 0, 0, 0, 0, 0],
            "startAfter": "2026-03-02T00:00:00Z",
        ])
        #expect(schedule.isDue(at: try #require(ParseDate(iso: "2026-03-02T08:00:00Z"))) == counts)
    }
}
