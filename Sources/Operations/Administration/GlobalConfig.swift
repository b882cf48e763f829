import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules

/// The deployment's parameters (`/config`): one row, the same for everybody.
extension Backend {
    /// The parameters as a caller sees them.
    public func globalConfig(_ context: RequestContext) async throws -> JSONObject {
        let row = try await configRow()
        guard let row else { return ["params": [:]] }
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

    /// Changes parameters; each that is written is for everybody unless it is said to be for the master key.
    ///
    /// - Throws: 119 for the read-only key.
    public func changeGlobalConfig(_ body: JSONObject, _ context: RequestContext) async throws {
        guard context.caller.power != .readOnlyMaster else {
            throw ParseError.denied(
                ParseError.operationForbidden, "read-only masterKey isn't allowed to update the config.")
        }
        try configuration.requestKeywordDenylist.check(body)
        let changes = body["params"]?.objectValue ?? [:]
        let masterKeyOnly = body["masterKeyOnly"]?.objectValue ?? [:]
        let stored =
            trigger(.beforeSave, "@Config") == nil && trigger(.afterSave, "@Config") == nil
            ? nil : try await configRow()?["params"]?.objectValue
        // What a trigger changes of the parameters is not stored, as with parse-server.
        let cloudContext = try await callConfigTrigger(
            .beforeSave, changes, original: stored, context, cloudContext: nil)
        var operations: OrderedDictionary<Name, FieldOperation> = [:]
        for (name, value) in changes {
            operations["params.\(name)"] = try FieldOperation(json: value, isCreating: false)
            operations["masterKeyOnly.\(name)"] = .set(.bool(masterKeyOnly[name]?.isTruthy ?? false))
        }
        var write = ObjectWrite()
        write.operations = operations
        try await store.change(.config, write)
        _ = try await callConfigTrigger(.afterSave, changes, original: stored, context, cloudContext: cloudContext)
    }

    private func configRow() async throws -> JSONObject? {
        var request = ObjectStore.FindRequest(className: "_GlobalConfig")
        request.filter = .field(FieldPath("objectId"), .equal("1"))
        return try await store.find(request).objects.first
    }
}
