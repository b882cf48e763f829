import JSON
import TestSupport

/// The scenarios' cloud code as webhooks on a loopback server.
struct WebhookFixture: CloudFixture {
    private typealias Answer = WebhookServer.Answer

    private static let functions: [String: WebhookServer.Behaviour] = [
        "echo": { .success($0["params"] ?? .null) },
        "nothing": { _ in .nothing },
        "null": { _ in .success(.null) },
        "date": { .success($0["params"]?["d"] ?? .null) },
        "dateOut": { _ in .success(.date("2016-05-22T09:00:00.000Z")) },
        "objectOut": { _ in
            .success(["__type": "Object", "className": "Note", "objectId": "abcdefghij", "text": "x"])
        },
        "failText": { _ in .error("no") },
        "failCode": { _ in .error(["code": 101, "message": "gone"]) },
        "failOldCode": { _ in .error(["code": 1337, "error": "x"]) },
        "hello": { _ in .text("hello") },
        "broken": { _ in .text("oh no", status: 500) },
        "keyed": { .success($0.headers["x-parse-webhook-key"].map { .string($0) } ?? .null) },
        "context": { .success($0["context"] ?? .null) },
        "dotted.name": { _ in .success(2) },
        "caller": { call in
            var told: JSONObject = ["user": .null]
            told["user"] = call["user"]?["username"] ?? .null
            told["token"] = call["user"]?["sessionToken"]
            told["header"] = call["headers"]?["x-own-header"]
            for key in ["master", "installationId", "ip"] { told[Name(key)] = call[key] }
            return .success(.object(told))
        },
    ]

    private static let triggers: [(className: String, event: String, behaviour: WebhookServer.Behaviour)] = [
        ("SetsB", "beforeSave", { .success($0.object(["b": 2])) }),
        ("SetsSame", "beforeSave", { .success($0.object(["a": 1])) }),
        (
            "Unsets", "beforeSave",
            { call in
                var fields = call["object"]?.objectValue ?? [:]
                fields["a"] = ["__op": "Delete"]
                return .success(.object(fields))
            }
        ),
        ("Defaulted", "beforeSave", { .success($0.object(["saw": .bool($0["object"]?["d"] != nil)])) }),
        ("Hello", "beforeSave", { _ in .text("hello") }),
        ("EmptyBefore", "beforeSave", { _ in .success([:]) }),
        ("EmptyAfter", "afterSave", { _ in .success([:]) }),
        ("Increments", "beforeSave", { .success($0.object(["n": .increment(1)])) }),
        ("Refuses", "beforeSave", { _ in .error("no") }),
        (
            "RefusesCode", "beforeSave",
            { $0["object"]?["a"] == 1 ? .error(["code": 1337, "message": "x"]) : .nothing }
        ),
        ("Guarded", "beforeSave", { _ in .error("called") }),
        ("Owned", "beforeSave", { $0["original"] == nil ? .nothing : .error("called") }),
        ("Typed", "beforeSave", { _ in .nothing }),
        (
            "Original", "beforeSave",
            { call in
                guard let original = call["original"] else { return .nothing }
                return .success(call.object(["was": original["a"] ?? .null, "is": call["object"]?["a"] ?? .null]))
            }
        ),
        ("Chain", "afterSave", { .success(["context": $0["context"] ?? .null]) }),
        ("AfterFails", "afterSave", { _ in .error("no") }),
        ("AfterReplaces", "afterSave", { _ in .success(["x": 1]) }),
        (
            "_User", "beforeSave",
            { call in
                let seen = JSONValue.bool(call["object"]?["password"] != nil)
                return .success(call.object(["seen": seen, "saves": .increment(1)]))
            }
        ),
        ("_User", "beforeLogin", { $0["object"]?["nick"] == "barred" ? .error("no") : .nothing }),
        ("_User", "afterLogin", { $0["object"]?["nick"] == "late" ? .error("too late") : .nothing }),
        ("Kept", "beforeDelete", { $0["object"]?["kept"] == true ? .error("no") : .nothing }),
        ("TooLate", "afterDelete", { _ in .error("too late") }),
        ("NoFinds", "beforeFind", { _ in .error("no") }),
        ("NoFinds", "beforeDelete", { _ in .nothing }),
        ("LimitOne", "beforeFind", { _ in .success(["limit": 1]) }),
        ("Made", "beforeFind", { _ in .success([["made": true]]) }),
        ("Emptied", "afterFind", { _ in .success([]) }),
        (
            "Inner", "beforeFind",
            { call in
                var condition = call["query"]?["where"]?.objectValue ?? [:]
                condition["secret"] = ["$ne": true]
                return .success(["where": .object(condition)])
            }
        ),
        (
            "Inner", "afterFind",
            { call in
                let objects = call["objects"]?.arrayValue ?? []
                return .success(
                    .array(
                        objects.map { object in
                            var object = object.objectValue ?? [:]
                            object["seen"] = true
                            return .object(object)
                        }))
            }
        ),
        ("Counted", "beforeFind", { .success([["counted": $0["count"] ?? .null]]) }),
    ]

    /// Includes scenarios that need no code.
    var scenarios: Set<String> {
        Set(Self.functions.keys).union(Self.triggers.map { $0.className }).union(["unknown", "names of JavaScript"])
    }

    func run(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run(["webhookKey": "secret"]) { server in
                for (name, behaviour) in Self.functions {
                    try await hooks.function(name, on: server, behaviour)
                }
                for trigger in Self.triggers {
                    try await hooks.trigger(trigger.event, trigger.className, on: server, trigger.behaviour)
                }
                try await body(server)
            }
        }
    }
}

extension WebhookServer.Call {
    fileprivate func object(_ fields: JSONObject) -> JSONValue {
        .object((body["object"]?.objectValue ?? [:]).merging(fields) { $1 })
    }
}
