import Backend
import JSON
import ParseModel

/// Configuration, analytics, and what only the master key reaches.
extension ParseRoutes {
    func administration(_ name: String, _ envelope: Envelope, _ context: RequestContext) async throws -> Reply? {
        let rest = Array(envelope.path.dropFirst())
        switch (name, envelope.method) {
        case ("config", .get) where rest.isEmpty:
            return .object(try await backend.globalConfig(context))
        case ("config", .put) where rest.isEmpty:
            try requireMaster(context)
            try await backend.changeGlobalConfig(envelope.body, context)
            return .object(["result": true])
        case ("events", .post) where rest.count == 1:
            return .object([:])
        case ("serverinfo", .get) where rest.isEmpty:
            try requireMaster(context)
            return .object(ServerInformation.report(configuration))
        case ("functions", .post) where !rest.isEmpty:
            if let id = envelope.credentials.requestID, !id.isEmpty, !envelope.isBatchElement {
                try await backend.claim(request: id, path: envelope.path.joined(separator: "/"), context)
            }
            // There is no cloud code, so there is no function of any name.
            throw ParseError(
                ParseError.scriptFailed, "Invalid function: \"\(rest.joined(separator: "/"))\"")
        case ("jobs", .post) where rest.count <= 1:
            try requireMaster(context)
            throw ParseError(ParseError.scriptFailed, "Invalid job.")
        case ("aggregate", .get) where rest.count == 1:
            try requireMaster(context)
            guard context.caller.power == .master || configuration.allowAggregationForReadOnlyMasterKey else {
                throw HTTPFault(status: 403, message: "Permission denied")
            }
            return .object(try await backend.aggregate(rest[0], envelope.parameters, context))
        case ("schemas", _):
            try requireMaster(context)
            return try await schemas(rest.first, rest.count, envelope, context)
        case ("purge", .delete) where rest.count == 1:
            try requireMaster(context)
            try await backend.purge(rest[0], context)
            return .object([:])
        case ("import_data", .post) where rest.count == 1, ("import_relation_data", .post) where rest.count == 2:
            try requireMaster(context)
            return try await importRows(rest[0], relation: rest.dropFirst().first, envelope, context)
        default: return try await dashboard(name, envelope, context)
        }
    }

    private func schemas(_ className: String?, _ depth: Int, _ envelope: Envelope, _ context: RequestContext)
        async throws -> Reply?
    {
        guard depth <= 1 else { return nil }
        switch (envelope.method, className) {
        case (.get, nil): return .object(["results": .array(try await backend.schemas().map { .object($0) })])
        case (.get, .some(let name)): return .object(try await backend.schema(name))
        case (.post, _):
            return .object(try await backend.createSchema(className, envelope.body, context))
        case (.put, .some(let name)):
            return .object(try await backend.updateSchema(name, envelope.body, context))
        case (.delete, .some(let name)):
            try await backend.deleteSchema(name, context)
            return .object([:])
        default: return nil
        }
    }
}
