import Foundation
import JSON
import ParseModel

/// `/scriptlog`: the latest log lines, as administrators read them.
public struct ScriptLog: Sendable {
    let backend: Backend
    var log: LogRing { backend.log }

    /// Log lines that the parameters `level`, `from`, `until`, `size` (or `n`) and `order` ask for.
    ///
    /// What is no value for a parameter counts as absent: parse-server's defaults hold then.
    public func lines(_ parameters: JSONObject) -> [JSONValue] {
        let now = ParseDate.now.milliseconds
        let from = Self.moment(parameters["from"]) ?? ParseDate(milliseconds: now - 7 * 86_400_000)
        let until = Self.moment(parameters["until"]) ?? ParseDate(milliseconds: now)
        let lines = log.lines(onlyErrors: parameters["level"]?.stringValue == "error", from: from, until: until)
        let size = Self.size(parameters["n"]) ?? Self.size(parameters["size"]) ?? 10
        let isAscending = parameters["order"]?.stringValue == "asc"
        return isAscending ? lines.prefix(size).map(\.json) : lines.suffix(size).reversed().map(\.json)
    }

    private static func moment(_ value: JSONValue?) -> ParseDate? {
        if let number = value?.numberValue, let milliseconds = Int64(exactly: number.rounded(.down)) {
            return ParseDate(milliseconds: milliseconds)
        }
        return value?.stringValue.flatMap(ParseDate.init(iso:))
    }

    private static func size(_ value: JSONValue?) -> Int? {
        let number = value?.numberValue ?? value?.stringValue.flatMap(Double.init)
        return number.flatMap { Int(exactly: $0.rounded(.down)) }.flatMap { $0 > 0 ? $0 : nil }
    }
}
