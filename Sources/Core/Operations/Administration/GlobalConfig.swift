import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// The app's parameters (`/config`), stored in one row.
public struct GlobalConfig: Sendable, BackendPart {
    let backend: Backend

    /// Returns the parameters, without those reserved for the master key if the caller is a client.
    public func read(_ context: RequestContext) async throws -> JSONObject {
        guard let row = try await row() else { return ["params": [:]] }
        var params = row["params"]?.objectValue ?? [:]
        var flags = row["masterKeyOnly"]?.objectValue ?? [:]
        if !context.caller.readsEverything {
            for (name, flag) in flags where flag.isTruthy {
                params[name] = nil
                flags[name] = nil
            }
        }
        return ["params": .object(params), "masterKeyOnly": .object(flags)]
    }

    /// Updates parameters. A written parameter is public unless `masterKeyOnly` is set for it.
    ///
    /// - Throws: 119 for the read-only master key, 105 for a prohibited keyword, and errors of triggers.
    public func change(_ body: JSONObject, _ context: RequestContext) async throws {
        let save = Save("_GlobalConfig", "1", body, context)
        _ = try await SavePipeline(backend: backend).run(save, rules: GlobalConfigRules(backend: backend))
    }

    fileprivate func row() async throws -> JSONObject? {
        try await store.find(ObjectStore.FindRequest(className: "_GlobalConfig", objectId: "1")).objects.first
    }
}

/// Saves the parameters: one row without a schema, with triggers on `@Config`.
private struct GlobalConfigRules: SaveRules {
    var backend: Backend

    private var original: JSONObject?

    init(backend: Backend) { self.backend = backend }

    func check(_ save: Save) throws(ParseError) {
        guard save.caller.power != .readOnlyMaster else { throw .readOnly("update the config") }
        try configuration.requestKeywordDenylist.check(save.body)
    }

    mutating func callBefore(_ save: inout Save) async throws {
        guard backend.triggers.callsSaveTriggers("@Config") else { return }
        original = try await backend.globalConfig.row()?["params"]?.objectValue
        // As in parse-server, a trigger's changes to the parameters are not stored.
        save.cloudContext = try await backend.triggers.callConfigTrigger(
            .beforeSave, Self.changes(save), original: original, save.context, cloudContext: nil)
    }

    func plan(_ save: Save) async throws -> PlannedWrite {
        let masterKeyOnly = save.body["masterKeyOnly"]?.objectValue ?? [:]
        var write = ObjectWrite()
        for (name, value) in Self.changes(save) {
            write.operations["params.\(name)"] = try FieldOperation(json: value, isCreating: false)
            write.operations["masterKeyOnly.\(name)"] = .set(.bool(masterKeyOnly[name]?.isTruthy ?? false))
        }
        return PlannedWrite(
            className: save.className, objectId: "1", write: write,
            result: WriteResult(status: 200, location: nil, body: [:]))
    }

    func store(_ planned: PlannedSave) async throws -> WriteResult {
        guard let planned = planned.write else { throw ParseError.notFound }
        try await store.settings.change(.config, planned.write)
        return planned.result
    }

    func finish(_ save: Save, _ result: inout WriteResult) async throws {
        _ = try await backend.triggers.callConfigTrigger(
            .afterSave, Self.changes(save), original: original, save.context, cloudContext: save.cloudContext)
    }

    private static func changes(_ save: Save) -> JSONObject { save.body["params"]?.objectValue ?? [:] }
}

/// The GraphQL settings (`/graphql-config`), stored only for a parse-server on the same database, not used by Roost.
public struct GraphQLConfig: Sendable, BackendPart {
    let backend: Backend

    /// Returns the settings, or an empty object if none are stored.
    public func read() async throws -> JSONObject {
        let request = ObjectStore.FindRequest(className: "_GraphQLConfig", objectId: "1")
        return try await store.find(request).objects.first?["config"]?.objectValue ?? [:]
    }

    public func change(_ body: JSONObject, _ context: RequestContext) async throws {
        guard context.caller.power == .master else { throw ParseError.readOnly("update the GraphQL config") }
        var write = ObjectWrite()
        write.operations["config"] = .set(.object(body["params"]?.objectValue ?? [:]))
        try await store.settings.change(.graphQL, write)
    }
}
