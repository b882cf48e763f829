import JSON
import ParseModel

/// `/scriptlog`: the latest log lines of this process, for administrators.
public struct ScriptLog: Sendable {
    let backend: Backend

    /// Returns the log lines that the parameters select, such as `level`, `from` and `size`.
    ///
    /// Invalid values are ignored, so parse-server's defaults apply.
    public func lines(_ parameters: JSONObject) -> [JSONValue] {
        let now = ParseDate.now.milliseconds
        let from = Self.moment(parameters["from"]) ?? ParseDate(milliseconds: now - 7 * 86_400_000)
        let until = Self.moment(parameters["until"]) ?? ParseDate(milliseconds: now)
        let size = Self.size(parameters["n"]) ?? Self.size(parameters["size"]) ?? 10
        let isAscending = parameters["order"]?.stringValue == "asc"
        let onlyErrors = parameters["level"]?.stringValue == "error"
        let matches = Self.filter(parameters)
        let lines = backend.log.lines(onlyErrors: onlyErrors, from: from, until: until).map(\.json).filter(matches)
            .map { JSONValue.object($0) }
        return isAscending ? Array(lines.prefix(size)) : Array(lines.suffix(size).reversed())
    }

    private static func filter(_ parameters: JSONObject) -> (JSONObject) -> Bool {
        let wanted = [("requestId", "id"), ("user", "user"), ("route", "route")].compactMap { parameter, field in
            parameters[Name(parameter)]?.nonEmptyString.map { (Name(field), $0) }
        }
        let text = parameters["text"]?.nonEmptyString
        guard !wanted.isEmpty || text != nil else { return { _ in true } }
        return { line in
            guard wanted.allSatisfy({ line[$0.0]?.stringValue == $0.1 }) else { return false }
            return text.map { text in line.values.contains { $0.stringValue?.contains(text) == true } } ?? true
        }
    }

    private static func moment(_ value: JSONValue?) -> ParseDate? {
        // The range of JavaScript dates.
        if let number = value?.numberValue, number.magnitude <= 8.64e15 {
            return ParseDate(milliseconds: Int64(number.rounded(.down)))
        }
        return value?.stringValue.flatMap(ParseDate.init(iso:))
    }

    private static func size(_ value: JSONValue?) -> Int? {
        let number = value?.numberValue ?? value?.stringValue.flatMap(Double.init)
        return number.flatMap { Int(exactly: $0.rounded(.down)) }.flatMap { $0 > 0 ? $0 : nil }
    }
}

extension JSONValue {
    /// The string, or a number as a string (query parameters may parse as numbers), or nil if empty or another type.
    fileprivate var nonEmptyString: String? {
        let text = stringValue ?? numberValue.map { _ in self.text }
        return text?.isEmpty == false ? text : nil
    }
}
