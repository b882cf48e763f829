import HTTP
import JSON
internal import Operations
internal import ParseModel
internal import ParseStorage
import Rules

/// Indexes that are built while the page goes on, and the long work of which they are some.
extension ConsoleRouteTable {
    static let tasks: [ConsoleRoute] = [
        ConsoleRoute(.post, "indexes", .developer) { try await $0.buildIndex() },
        ConsoleRoute(.get, "tasks", .developer) { .object(["tasks": .array($0.interface.tasks.all.map(\.json))]) },
        ConsoleRoute(.get, "tasks/:id", .developer) { try await $0.task() },
        ConsoleRoute(.delete, "tasks/:id", .developer) { try await $0.stopTask() },
    ]
}

extension ConsoleCall {
    private var context: RequestContext { interface.dispatcher.context(of: visit.request, interface.backend.clock.now) }

    /// The fields of an index, as the schemas API has them: an object, or a list of names with a minus for descending.
    static func fields(_ value: JSONValue?, isUnique: Bool) throws(HTTPError) -> JSONObject {
        var fields = value?.objectValue ?? [:]
        for element in value?.arrayValue ?? [] {
            guard let name = element.nameValue else {
                throw HTTPError(status: 400, message: "fields has names of fields alone.")
            }
            fields[Name(name.dropping(prefix: "-") ?? name.text)] = name.hasPrefix("-") ? -1 : 1
        }
        guard !fields.isEmpty else {
            throw HTTPError(status: 400, message: "fields says which fields the index is over.")
        }
        if isUnique { fields["$unique"] = true }
        return fields
    }

    /// The name of an index that was given none.
    static func indexName(_ fields: JSONObject) -> String {
        fields.filter { !$0.key.hasPrefix("$") }
            .map { "\($0.key.text)_\($0.value.stringValue ?? $0.value.text)" }.joined(separator: "_")
    }

    fileprivate func buildIndex() async throws -> Reply {
        var body = try await body()
        let advice = try await advised(body["advice"])
        if let advice {
            body["className"] = .string(advice.className)
            body["fields"] = .array(advice.columns.map { .string($0) })
        }
        guard let className = body["className"]?.stringValue else {
            throw HTTPError(status: 400, message: "className says which class.")
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
        let row = try await backend.store.audit.begin(entry)
        let item = ConsoleTasks.Item(
            id: Identifiers.alphanumeric(10), kind: "index", className: className, startedAt: context.now,
            message: "It begins.")
        let request = visit.request.id
        let isBegun = interface.tasks.begin(item) {
            var result: JSONObject = ["className": .string(className), "name": .string(name)]
            let statements = backend.slowStatements
            if let advice { result["before"] = await statements.time(of: advice).map { .number($0) } }
            _ = try await backend.schemas.update(className, ["indexes": .object(indexes)], context)
            if let advice { result["after"] = await statements.time(of: advice).map { .number($0) } }
            return .object(result)
        } ended: { error in
            let reply = error.map { interface.dispatcher.reply(to: $0, request) }
            // The entry of the audit is complete before the page learns of the end, where the database is there.
            await Task {
                try? await backend.store.audit.complete(row, status: reply?.status ?? 200, ids: nil, after: nil)
            }.value
            guard let reply else { return "The index is built." }
            guard case .json(let bytes) = reply.body, let value = try? JSONValue(parsing: bytes) else { return "" }
            return value["error"]?.stringValue ?? ""
        }
        guard isBegun else {
            try await backend.store.audit.complete(row, status: 409, ids: nil, after: nil)
            throw HTTPError(status: 409, message: "An index of \(className) is being built.")
        }
        return .object(interface.tasks.item(item.id)?.json.objectValue ?? [:], status: 202)
    }

    /// The advice that a body names, nil where it names none.
    private func advised(_ name: JSONValue?) async throws -> IndexAdvice? {
        guard let name, !name.isNull else { return nil }
        guard let text = name.stringValue, let advice = try await interface.backend.slowStatements.advice(named: text)
        else { throw ParseError(ParseError.objectNotFound, "There is no such advice, or not any more.") }
        return advice
    }

    private func known(_ id: String) throws(ParseError) -> ConsoleTasks.Item {
        guard let item = interface.tasks.item(id) else {
            throw ParseError(ParseError.objectNotFound, "There is no such task, or not any more.")
        }
        return item
    }

    /// A task, at once or as soon as there is something new to say of it.
    fileprivate func task() async throws -> Reply {
        let wait = min(20, max(0, query["wait"]?.numberValue ?? 0))
        let end = ContinuousClock.now + .seconds(wait)
        let first = try known(arguments[0])
        while true {
            if first.kind == "index", try known(arguments[0]).state == .running,
                let progress = try await IndexProgress.now(of: first.className, in: interface.backend.store)
            {
                interface.tasks.note(first.id, progress.percent, progress.words)
            }
            let item = try known(arguments[0])
            guard item.state == .running, item.done == first.done, ContinuousClock.now < end else {
                return .object(item.json.objectValue ?? [:])
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    fileprivate func stopTask() async throws -> Reply {
        let id = try known(arguments[0]).id
        return try await audited("tasks/\(id)") {
            interface.tasks.stop(id)
            return .object([:])
        }
    }
}
