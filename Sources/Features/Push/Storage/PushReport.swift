import JSON
import ParseStorage
import Postgres

/// The findings of a push's dry run.
struct PushReport: Sendable {
    /// Device counts by kind, for `deviceTypes`, `locales`, `badges`, `entries` and `problems`.
    private(set) var counts: [Name: [Name: Int]] = [:]
    /// The size of the largest payload in bytes.
    private(set) var payloadBytes = 0

    private static let maxKinds = 200
    private static let longestKind = 200

    init() {}

    init(json: JSONObject) {
        payloadBytes = json["payloadBytes"]?.numberValue.flatMap { Int(exactly: $0) } ?? 0
        for (key, value) in json {
            for (kind, count) in value.objectValue ?? [:] {
                counts[key, default: [:]][kind] = count.numberValue.flatMap { Int(exactly: $0) } ?? 0
            }
        }
    }

    /// Counts devices of a kind. Kinds beyond the first 200 are counted as others.
    mutating func add(_ key: Name, _ kind: String, _ count: Int = 1) {
        var kind = Name(String(decoding: kind.utf8.prefix(Self.longestKind), as: UTF8.self))
        if let kinds = counts[key], kinds[kind] == nil, kinds.count >= Self.maxKinds { kind = "others" }
        counts[key, default: [:]][kind, default: 0] += count
    }

    /// Records a payload size in bytes. Only the largest is kept.
    mutating func recordSize(_ bytes: Int) { payloadBytes = max(payloadBytes, bytes) }

    /// Adds the counts of another report, and keeps the larger payload size.
    mutating func add(_ other: PushReport) {
        recordSize(other.payloadBytes)
        for (key, kinds) in other.counts { for (kind, count) in kinds { add(key, kind.text, count) } }
    }

    var json: JSONObject {
        var object: JSONObject = ["payloadBytes": .number(Double(payloadBytes))]
        for key in ["deviceTypes", "locales", "badges", "entries", "problems"] as [Name] {
            var kinds: JSONObject = [:]
            for (kind, count) in (counts[key] ?? [:]).sorted(by: { $0.key < $1.key }) {
                kinds[kind] = .number(Double(count))
            }
            object[key] = .object(kinds)
        }
        return object
    }
}

/// Reports of dry runs.
extension PushRows {
    func add(_ report: PushReport, to pushId: String) async throws {
        var all = report
        _ = try await store.query(
            "INSERT INTO \"_roost_push_report\" VALUES ($1, '{}') ON CONFLICT DO NOTHING", [.text(pushId)])
        let rows = try await store.query(
            "SELECT \"report\" FROM \"_roost_push_report\" WHERE \"pushId\" = $1 FOR UPDATE", [.text(pushId)])
        if rows.rowCount > 0, let json = rows.json(0, 0)?.objectValue { all.add(PushReport(json: json)) }
        _ = try await store.query(
            "UPDATE \"_roost_push_report\" SET \"report\" = $2 WHERE \"pushId\" = $1",
            [.text(pushId), .text(JSONValue.object(all.json).text)])
    }

    /// Returns the report of a push's dry run, or nil for a real push and after 30 days.
    func report(_ id: String) async throws -> JSONObject? {
        let rows = try await store.query(
            "SELECT \"report\" FROM \"_roost_push_report\" WHERE \"pushId\" = $1", [.text(id)], readOnly: true)
        guard rows.rowCount > 0, let text = rows.string(0, 0) else { return nil }
        return try JSONValue(parsing: text).objectValue
    }
}
