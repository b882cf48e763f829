import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules

/// Declared webhooks, stored in `_Hooks` with one row per hook.
public struct Hooks: Sendable, BackendPart {
    let backend: Backend

    /// The identity of a declared hook.
    public enum HookName: Sendable, Hashable {
        case function(String)
        case trigger(className: String, trigger: String)

        fileprivate var filter: Filter { .all(json.map { .field(FieldPath($0.key), .equal($0.value)) }) }

        fileprivate var json: JSONObject {
            switch self {
            case .function(let name): ["functionName": .string(name)]
            case .trigger(let className, let trigger):
                ["className": .string(className), "triggerName": .string(trigger)]
            }
        }

        fileprivate var missing: ParseError {
            switch self {
            case .function(let name):
                ParseError(ParseError.webhookError, "no function named: \(name) is defined")
            case .trigger(let className, _):
                ParseError(ParseError.webhookError, "class \(className) does not exist")
            }
        }

        fileprivate var alreadyExists: ParseError {
            switch self {
            case .function(let name): ParseError(ParseError.webhookError, "function name: \(name) already exists")
            case .trigger(let className, let trigger):
                ParseError(ParseError.webhookError, "class \(className) already has trigger \(trigger)")
            }
        }
    }

    private static let triggers: Set<Name> = [
        "beforeSave", "afterSave", "beforeDelete", "afterDelete", "beforeFind", "afterFind", "beforeLogin",
        "afterLogin", "afterLogout", "beforeConnect", "beforeSubscribe", "afterEvent", "beforePasswordResetRequest",
    ]

    /// Returns all hooks.
    public func all() async throws -> [JSONObject] {
        try await store.find(ObjectStore.FindRequest(className: "_Hooks")).objects
    }

    /// Returns all function hooks or all trigger hooks.
    public func list(functions: Bool) async throws -> [JSONObject] {
        var request = ObjectStore.FindRequest(className: "_Hooks")
        request.filter = .field(FieldPath(functions ? "functionName" : "triggerName"), .exists(true))
        return try await store.find(request).objects
    }

    /// Returns a hook's declaration.
    ///
    /// - Throws: 143 if the hook doesn't exist.
    public func describe(_ name: HookName) async throws -> JSONObject {
        guard let hook = try await find(name) else { throw name.missing }
        return hook
    }

    /// Declares a hook.
    ///
    /// - Throws: 143 if the declaration is invalid or the hook already exists, 119 for the read-only master key.
    public func create(_ body: JSONObject, functions: Bool, _ context: RequestContext) async throws -> JSONObject {
        try checkHookWrite(context)
        let name = try Self.hookName(body, functions: functions)
        guard let url = body["url"]?.stringValue else { throw Self.invalidHook }
        guard try await find(name) == nil else { throw name.alreadyExists }
        return try await write(name, url: url)
    }

    /// Changes a hook's URL, or removes the hook (`{"__op":"Delete"}`).
    ///
    /// - Throws: 143 if the hook doesn't exist or the URL is missing, 119 for the read-only master key.
    public func change(_ name: HookName, _ body: JSONObject, _ context: RequestContext) async throws -> JSONObject {
        try checkHookWrite(context)
        guard try await find(name) != nil else { throw name.missing }
        if body["__op"]?.stringValue == "Delete" {
            try await store.deleteAll("_Hooks", where: name.filter)
            await backend.caches.settingsChanged()
            return [:]
        }
        guard let url = body["url"]?.stringValue else { throw Self.invalidHook }
        return try await write(name, url: url)
    }

    private static let invalidHook = ParseError(ParseError.webhookError, "invalid hook declaration")

    private func checkHookWrite(_ context: RequestContext) throws(ParseError) {
        guard context.caller.power == .master else { throw .readOnly("create a hook") }
    }

    private static func hookName(_ body: JSONObject, functions: Bool) throws(ParseError) -> HookName {
        if functions {
            guard let name = body["functionName"]?.stringValue, !name.isEmpty else { throw invalidHook }
            return .function(name)
        }
        guard let className = body["className"]?.stringValue, let trigger = body["triggerName"]?.stringValue,
            triggers.contains(trigger), isAllowed(trigger, on: className)
        else { throw invalidHook }
        return .trigger(className: className, trigger: trigger)
    }

    /// Some triggers are valid for only one class. `_Session` and `_PushStatus` don't allow all other triggers.
    private static func isAllowed(_ trigger: String, on className: String) -> Bool {
        switch trigger {
        case "beforeLogin", "afterLogin", "beforePasswordResetRequest": className == "_User"
        case "afterLogout": className == "_Session"
        default: className != "_Session" && !(className == "_PushStatus" && trigger == "beforeSave")
        }
    }

    private func find(_ name: HookName) async throws -> JSONObject? {
        var request = ObjectStore.FindRequest(className: "_Hooks")
        request.filter = name.filter
        return try await store.find(request).objects.last
    }

    private func write(_ name: HookName, url: String) async throws -> JSONObject {
        var hook = name.json
        hook["url"] = .string(url)
        try await store.settings.replaceHook(name.filter, with: hook)
        await backend.caches.settingsChanged()
        return hook
    }
}
