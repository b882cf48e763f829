import Encoding
import HTTP
import JSON
import Limits
internal import Operations
import Rules
import Synchronization

/// The activity page: log lines, cloud code and live queries.
extension ConsoleRouteTable {
    static let goingOn: [ConsoleRoute] = [
        ConsoleRoute(.get, "logs", .developer) { try await LogCalls(call: $0).logs() },
        ConsoleRoute(.get, "cloud", .developer) { call in
            var answer = call.interface.dispatcher.cloudCode
            answer["runsSchedules"] = .bool(call.interface.configuration.jobSchedules)
            return .object(answer)
        },
        ConsoleRoute(.get, "live", .developer) { call in
            // The page polls this route.
            call.visit.request.record.lowerLogLevel()
            let options = call.interface.configuration.liveQuery
            let missing = options.missingOption.map { JSONValue.string($0) } ?? .null
            guard options.isServed, let live = await call.interface.live.read() else {
                return .object(["isOn": false, "missing": missing])
            }
            let redacted = SecretTexts(call.interface.configuration).removed(from: live)
            let classes = call.interface.backend.catalog.snapshot.classes.keys.filter { options.publishes($0) }.sorted()
            let subscribed = (live["connections"]?.arrayValue ?? []).flatMap { $0["subscriptions"]?.arrayValue ?? [] }
            let silent = Set(subscribed.compactMap { $0["className"] }).filter {
                !options.publishes(Name($0.stringValue ?? ""))
            }
            let known: JSONObject = [
                "isOn": true, "missing": missing, "classes": .array(classes.map { .string($0.text) }),
                "unpublished": .array(Array(silent)),
            ]
            return .object(redacted.merging(known) { $1 })
        },
        ConsoleRoute(.get, "live/events", .developer) { try await LiveCalls(call: $0).events() },
    ]
}

/// Access to live-query connections and events. Set later, because live queries start after the console.
final class LiveSource: Sendable {
    /// A function that returns the events of a query since the previous call. Takes the query, the subscription name,
    /// the server URL, the client address and the maximum waiting time.
    typealias Events = @Sendable (JSONObject, String, String, String, Duration) async throws -> JSONObject

    private let source = Mutex<(connections: @Sendable () async -> JSONObject, events: Events)?>(nil)

    func set(_ connections: @escaping @Sendable () async -> JSONObject, _ events: @escaping Events) {
        source.withLock { $0 = (connections: connections, events: events) }
    }

    /// Returns the connections, or nil if live queries are off.
    func read() async -> JSONObject? {
        let source = source.withLock { $0 }
        return await source?.connections()
    }

    /// The function that reads events, or nil if live queries are off.
    var events: Events? { source.withLock { $0?.events } }
}

private struct LiveCalls: ConsoleCalls {
    let call: ConsoleCall

    /// Returns the events of a live query on a class since the previous call.
    func events() async throws -> Reply {
        visit.request.record.lowerLogLevel()
        let texts = texts
        guard interface.configuration.liveQuery.isServed, let read = interface.live.events else {
            throw HTTPError(status: 400, message: "Live queries are off. Turn them on with the option liveQuery.")
        }
        guard let className = texts["className"]?.stringValue, let name = texts["watch"]?.stringValue,
            name.utf8.count <= 64
        else {
            throw HTTPError(status: 400, message: "className and watch (at most 64 bytes) are required.")
        }
        var wanted: JSONObject = ["className": .string(className)]
        wanted["where"] = query["where"]
        // The name includes the session, so a session can't get another's events.
        let own = ConsoleSecrets.hash(visit.fields.token ?? "").hexadecimal
        let seconds = min(20, max(0, texts["wait"]?.stringValue.flatMap(Double.init) ?? 0))
        let context = context
        return .object(
            try await read(wanted, "\(own) \(name)", context.mountURL, context.address, .seconds(seconds)))
    }
}

struct LogFilter: Sendable {
    private static let levels = ["silly": 0, "debug": 0, "info": 1, "warn": 2, "error": 3]

    let least: Int
    /// Whether only requests with a status of 400 or above are shown.
    let onlyFailed: Bool
    let text: String?
    let function: String?
    let request: String?
    /// The path prefix of requests that are shown only if logged as errors, or nil to show all requests.
    let leftOut: String?
    let secrets: SecretTexts

    /// - Parameter console: The console's path. Requests to it are shown only if they are logged as errors, or if
    ///   `query` selects them.
    /// - Throws: ``HTTPError`` for an unknown level.
    init(_ query: JSONObject, console: String, _ secrets: SecretTexts) throws(HTTPError) {
        func text(_ name: Name) -> String? { query[name]?.stringValue.flatMap { $0.isEmpty ? nil : $0 } }
        onlyFailed = text("level") == "failed"
        guard let least = onlyFailed ? 1 : Self.levels[text("level") ?? "info"] else {
            throw HTTPError(status: 400, message: "level must be info, warn, error or failed.")
        }
        self.least = least
        self.text = text("text")?.lowercased()
        function = text("function")
        request = text("request")
        leftOut = request != nil || text("console") == "true" ? nil : console + "/"
        self.secrets = secrets
    }

    var onlyErrors: Bool { least == 3 }

    /// Returns a line as shown, or nil if it doesn't match the filter. Secrets are removed before the text search,
    /// which could otherwise reveal them letter by letter.
    func redacted(_ line: JSONObject) -> JSONObject? {
        let level = line["level"]?.stringValue ?? ""
        guard Self.levels[level] ?? 1 >= least else { return nil }
        if onlyFailed, line["status"]?.numberValue ?? 0 < 400 { return nil }
        if let request, line["id"]?.stringValue != request { return nil }
        if let leftOut, Self.isConsole(line, leftOut) { return nil }
        if let function, !Self.isAbout(function, line) { return nil }
        var fields = secrets.removed(from: line)
        if let text, !fields.contains(where: { Self.contains(text, $0.key, $0.value) }) { return nil }
        let (message, at) = (fields["message"], fields["timestamp"])
        for name: Name in ["message", "timestamp", "level", "url"] { fields[name] = nil }
        return [
            "at": at ?? .null, "level": .string(level), "message": message ?? "", "fields": .object(fields),
        ]
    }

    /// Returns whether a line is of a console request. Errors don't count, except those of an outage, which would hide
    /// others.
    static func isConsole(_ line: JSONObject, _ prefix: String) -> Bool {
        (line["level"] != "error" || line["status"] == 503)
            && line["path"]?.stringValue?.dropping(prefix: prefix) != nil
    }

    /// Returns whether a field contains a text. Ids, statuses and error codes must match as a whole. Times and other
    /// numbers never match.
    private static func contains(_ text: String, _ name: Name, _ value: JSONValue) -> Bool {
        switch (name, value) {
        case ("timestamp", _): false
        case ("id", .string(let id)): id.lowercased() == text
        case ("status", .number(let number)), ("code", .number(let number)):
            Int(exactly: number).map { "\($0)" } == text
        case (_, .string(let value)): value.lowercased().contains(text)
        default: false
        }
    }

    /// The maximum number of lines per response, and their approximate maximum size in bytes.
    static let (maxLines, maxBytes) = (500, 1_000_000)

    /// Log lines, the number of lines dropped before them, and the line number to continue from.
    struct Lines: Sendable {
        var entries: [JSONValue] = []
        var dropped = 0
        var next: Int
        fileprivate var bytes = 0

        /// Appends a line. Returns false if the response is full.
        mutating func append(_ fields: JSONObject, _ number: Int, of process: String) -> Bool {
            var fields = fields
            fields["n"] = .string("\(process).\(number)")
            let value = JSONValue.object(fields)
            let size = value.serialized().count
            guard entries.count < LogFilter.maxLines, entries.isEmpty || bytes + size <= LogFilter.maxBytes else {
                return false
            }
            bytes += size
            entries.append(value)
            return true
        }
    }

    func latest(_ log: LogRing) -> Lines {
        let count = log.count
        let lines = log.lines(from: 0, onlyErrors: onlyErrors)
        var found = Lines(next: max(count, (lines.last?.number ?? -1) + 1))
        for line in lines.reversed() {
            guard let fields = redacted(line.json) else { continue }
            guard found.append(fields, line.number, of: log.process) else { break }
        }
        found.entries.reverse()
        return found
    }

    func following(_ log: LogRing, from number: Int) -> Lines {
        let count = log.count
        let lines = log.lines(from: number, onlyErrors: onlyErrors)
        var found = Lines(next: max(count, (lines.last?.number ?? -1) + 1))
        if !onlyErrors { found.dropped = max(0, (lines.first?.number ?? number) - number) }
        for line in lines {
            guard let fields = redacted(line.json) else { continue }
            guard found.append(fields, line.number, of: log.process) else {
                found.next = line.number
                break
            }
        }
        return found
    }

    private static func isAbout(_ function: String, _ line: JSONObject) -> Bool {
        if ["function", "job", "trigger"].contains(where: { line[$0]?.stringValue == function }) { return true }
        return line["path"]?.stringValue?.hasSuffix("/functions/\(function)") == true
    }
}

private struct LogCalls: ConsoleCalls {
    let call: ConsoleCall

    /// Returns the latest lines or, with `after`, the lines since that position.
    func logs() async throws -> Reply {
        // Logging these requests would produce new lines for the reader forever.
        visit.request.record.lowerLogLevel()
        let query = texts
        let filter = try LogFilter(
            query, console: interface.configuration.console.path, SecretTexts(interface.configuration))
        let log = interface.backend.log
        guard let place = try Self.place(query["after"]?.stringValue, of: log.process) else {
            return Self.answer(await HeavyWork.run { filter.latest(log) }, log)
        }
        let wait = min(20, max(0, query["wait"]?.stringValue.flatMap(Double.init) ?? 0))
        let end = ContinuousClock.now + .seconds(wait)
        var next = min(place, log.count)
        var dropped = 0
        while true {
            if log.count > next {
                let lines = await HeavyWork.run { [next] in filter.following(log, from: next) }
                dropped += lines.dropped
                next = max(next, lines.next)
                guard lines.entries.isEmpty else {
                    return Self.answer(LogFilter.Lines(entries: lines.entries, dropped: dropped, next: next), log)
                }
            }
            guard ContinuousClock.now < end else {
                return Self.answer(LogFilter.Lines(dropped: dropped, next: next), log)
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Returns the line number from which this process continues, or nil if the list of positions has none for it.
    private static func place(_ text: String?, of process: String) throws(HTTPError) -> Int? {
        guard let text, !text.isEmpty else { return nil }
        // The list has one position per process that has responded.
        for place in text.split(separator: ",").prefix(32) {
            let parts = place.split(separator: ".")
            guard parts.count == 2, let number = Int(parts[1]), number >= 0 else {
                throw HTTPError(status: 400, message: "after is not a valid log position.")
            }
            if parts[0] == process { return number }
        }
        return nil
    }

    private static func answer(_ lines: LogFilter.Lines, _ log: LogRing) -> Reply {
        .object([
            "lines": .array(lines.entries), "next": .string("\(log.process).\(lines.next)"),
            "dropped": .number(Double(lines.dropped)),
        ])
    }
}
