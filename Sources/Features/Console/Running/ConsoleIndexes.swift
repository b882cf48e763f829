internal import Doctor
import HTTP
import JSON
internal import Operations
internal import ParseModel
internal import ParseStorage
import Rules

/// The routes for indexes and for background tasks, such as building an index.
extension ConsoleRouteTable {
    static let tasks: [ConsoleRoute] = [
        ConsoleRoute(.get, "indexes", .viewer) { try await IndexCalls(call: $0).indexes() },
        ConsoleRoute(.post, "indexes", .developer) { try await IndexCalls(call: $0).buildIndex() },
        ConsoleRoute(.get, "tasks", .developer) { .object(["tasks": .array($0.interface.tasks.all.map(\.json))]) },
        ConsoleRoute(.get, "tasks/:id", .developer) { try await IndexCalls(call: $0).task() },
        ConsoleRoute(.delete, "tasks/:id", .developer) { try await IndexCalls(call: $0).stopTask() },
    ]
}

private struct IndexCalls: ConsoleCalls {
    let call: ConsoleCall

    /// Returns the fields of an index in the format of the schemas API. Accepts an object or a list of names, with a
    /// leading minus for descending order.
    static func fields(_ value: JSONValue?, isUnique: Bool) throws(HTTPError) -> JSONObject {
        var fields = value?.objectValue ?? [:]
        for element in value?.arrayValue ?? [] {
            guard let name = element.nameValue else {
                throw HTTPError(status: 400, message: "fields must be a list of field names.")
            }
            fields[Name(name.dropping(prefix: "-") ?? name.text)] = name.hasPrefix("-") ? -1 : 1
        }
        guard !fields.isEmpty else {
            throw HTTPError(status: 400, message: "fields is required.")
        }
        if isUnique { fields["$unique"] = true }
        return fields
    }

    /// Returns the default name of an index.
    static func indexName(_ fields: JSONObject) -> String {
        fields.filter { !$0.key.hasPrefix("$") }
            .map { "\($0.key.text)_\($0.value.stringValue ?? $0.value.text)" }.joined(separator: "_")
    }

    /// Returns the size and usage of the indexes of a class.
    func indexes() async throws -> Reply {
        let className = texts["className"]?.stringValue ?? ""
        guard let schema = interface.backend.catalog.schema(className) else {
            throw ParseError.missingClass(className)
        }
        let (indexes, since) = try await interface.backend.store.indexSizes.sizes(of: schema)
        return .object([
            "indexes": .array(
                indexes.map { index in
                    [
                        "name": .string(index.name), "bytes": .number(Double(index.bytes)),
                        "scans": .number(Double(index.scans)), "isUnique": .bool(index.isUnique),
                        "isValid": .bool(index.isValid), "isOwn": .bool(index.isOwn),
                    ]
                }), "since": since.map { .string($0.iso) } ?? .null,
        ])
    }

    func buildIndex() async throws -> Reply {
        var body = try await body()
        if let advice = try await advised(body["advice"]) {
            body["className"] = .string(advice.className)
            body["fields"] = .array(advice.columns.map { .string($0) })
        }
        guard let className = body["className"]?.stringValue else {
            throw HTTPError(status: 400, message: "className is required.")
        }
        let fields = try Self.fields(body["fields"], isUnique: body["unique"] == true)
        let name = body["name"]?.stringValue ?? Self.indexName(fields)
        let (interface, context) = (interface, context)
        let backend = interface.backend
        let indexes: JSONObject = [Name(name): .object(fields)]
        try backend.schemas.check(indexes: indexes, of: className, context)
        var entry = interface.entry(visit, session, "indexes")
        entry.className = className
        entry.fields = fields.keys.texts
        let item = ConsoleTasks.Item(kind: "index", className: className, startedAt: context.now)
        return try await begin(
            item, entry, done: "The index is built.", busy: "An index on \(className) is already being built."
        ) {
            _ = try await backend.schemas.update(className, ["indexes": .object(indexes)], context)
            return ["className": .string(className), "name": .string(name)]
        }
    }

    /// Returns the advice with the given name, or nil if `name` is missing or null.
    private func advised(_ name: JSONValue?) async throws -> IndexAdvice? {
        guard let name, !name.isNull else { return nil }
        let slow = SlowStatements(backend: interface.backend)
        guard let text = name.stringValue, let advice = try await slow.advice(named: text)
        else { throw ParseError(ParseError.objectNotFound, "The suggestion doesn't exist or has expired.") }
        return advice
    }

    private func known(_ id: String) throws(ParseError) -> ConsoleTasks.Item {
        guard let item = interface.tasks.item(id) else {
            throw ParseError(ParseError.objectNotFound, "The task doesn't exist or has expired.")
        }
        return item
    }

    /// Returns a task. Waits up to `wait` seconds, at most 20, for progress.
    func task() async throws -> Reply {
        let wait = min(20, max(0, query["wait"]?.numberValue ?? 0))
        let end = ContinuousClock.now + .seconds(wait)
        let first = try known(arguments[0])
        while true {
            if first.kind == "index", try known(arguments[0]).state == .running,
                let progress = try await IndexProgress.now(of: first.className, in: interface.backend.store)
            {
                interface.tasks.update(first.id, progress.percent, progress.words)
            }
            let item = try known(arguments[0])
            guard item.state == .running, item.done == first.done, ContinuousClock.now < end else {
                return .object(item.json.objectValue ?? [:])
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    func stopTask() async throws -> Reply {
        let id = try known(arguments[0]).id
        return try await call.audited("tasks/\(id)") {
            interface.tasks.stop(id)
            return .object([:])
        }
    }
}
