import Backend
import JSON
import ParseModel

/// What Parse Dashboard asks for besides objects and schemas; all of it needs the master key.
extension ParseRoutes {
    func dashboard(_ name: String, _ envelope: Envelope, _ context: RequestContext) async throws -> Reply? {
        let rest = envelope.path.dropFirst()
        switch (name, envelope.method) {
        case ("security", .get) where rest.isEmpty:
            try requireMaster(context)
            guard let report = backend.securityReport() else {
                throw HTTPFault(
                    status: 409,
                    message: "Enable Parse Server option `security.enableCheck` to run security check.")
            }
            return .object(report)
        case ("scriptlog", .get) where rest.isEmpty:
            try requireMaster(context)
            return .json(JSONValue.array(backend.logLines(envelope.parameters)).serialized())
        case ("graphql-config", .get) where rest.isEmpty:
            try requireMaster(context)
            return .object(try await backend.graphQLConfig())
        case ("graphql-config", .put) where rest.isEmpty:
            try requireMaster(context)
            try await backend.changeGraphQLConfig(envelope.body, context)
            return .object(["result": true])
        case ("hooks", _): return try await hooks(Array(rest), envelope, context)
        case ("push_audiences", _):
            try requireMaster(context)
            return try await audiences(rest, envelope, context)
        case ("cloud_code", _) where rest.first?.lowercased() == "jobs":
            try requireMaster(context)
            return try await schedules(rest.dropFirst(), envelope, context)
        default: return nil
        }
    }

    private func hooks(_ rest: [String], _ envelope: Envelope, _ context: RequestContext) async throws -> Reply? {
        guard let kind = rest.first?.lowercased(), kind == "functions" || kind == "triggers" else { return nil }
        let isFunction = kind == "functions"
        let name: Backend.HookName? =
            switch (isFunction, rest.count) {
            case (true, 2): .function(rest[1])
            case (false, 3): .trigger(className: rest[1], trigger: rest[2])
            default: nil
            }
        guard rest.count == 1 || name != nil else { return nil }
        switch (envelope.method, name) {
        case (.get, nil):
            try requireMaster(context)
            return Self.array(try await backend.hooks(functions: isFunction))
        case (.get, .some(let name)):
            try requireMaster(context)
            return .object(try await backend.hook(name))
        case (.post, nil):
            try requireMaster(context)
            return .object(try await backend.createHook(envelope.body, functions: isFunction, context))
        case (.put, .some(let name)):
            try requireMaster(context)
            return .object(try await backend.changeHook(name, envelope.body, context))
        case (.delete, .some(let name)):
            try requireMaster(context)
            return .object(try await backend.changeHook(name, ["__op": "Delete"], context))
        default: return nil
        }
    }

    private static func array(_ objects: [JSONObject]) -> Reply {
        .json(JSONValue.array(objects.map { .object($0) }).serialized())
    }

    /// Audiences keep their query as text; it is shown as the object that it is.
    private func audiences(_ rest: ArraySlice<String>, _ envelope: Envelope, _ context: RequestContext) async throws
        -> Reply?
    {
        guard let reply = try await object("_Audience", rest, envelope, context) else { return nil }
        guard envelope.method == .get, case .json(let bytes) = reply.body,
            var answer = try JSONValue(parsing: bytes).objectValue
        else { return reply }
        if let results = answer["results"]?.arrayValue {
            answer["results"] = .array(results.map { .object(Self.withQuery($0.objectValue ?? [:])) })
        } else {
            answer = Self.withQuery(answer)
        }
        return .object(answer)
    }

    private static func withQuery(_ audience: JSONObject) -> JSONObject {
        var audience = audience
        if let text = audience["query"]?.stringValue, let query = try? JSONValue(parsing: Array(text.utf8)) {
            audience["query"] = query
        }
        return audience
    }

    /// Schedules of jobs. No job is deployed, so none can be scheduled; those that are there are shown and removed.
    private func schedules(_ rest: ArraySlice<String>, _ envelope: Envelope, _ context: RequestContext) async throws
        -> Reply?
    {
        switch (envelope.method, rest.first) {
        case (.get, nil):
            let found = try JSONValue(parsing: try await backend.find("_JobSchedule", [:], context))
            return .json((found["results"] ?? .array([])).serialized())
        case (.get, "data"):
            let found = try JSONValue(parsing: try await backend.find("_JobSchedule", ["limit": 1000], context))
            let names = (found["results"]?.arrayValue ?? []).compactMap { $0["jobName"] }
            return .object(["in_use": .array(names), "jobs": []])
        case (.post, nil), (.put, .some):
            throw ParseError(ParseError.scriptFailed, "Cannot Schedule a job that is not deployed")
        case (.delete, .some(let id)) where rest.count == 1:
            try await backend.delete("_JobSchedule", id, context)
            return .object([:])
        default: return nil
        }
    }
}
