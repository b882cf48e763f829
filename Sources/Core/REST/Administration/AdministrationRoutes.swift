import HTTP
import JSON
import Limits
import Operations
import ParseStorage
import ServerConfiguration

/// Routes for the configuration, server information and analytics events. Analytics events are accepted and ignored.
extension RouteTable {
    static let configuration = [
        Route(.get, "config", [.batchable, .transactional]) { routes, call in
            .object(try await routes.backend.globalConfig.read(call.context))
        },
        Route(.put, "config", [.master, .batchable, .transactional]) { routes, call in
            try await routes.backend.globalConfig.change(call.envelope.body, call.context)
            return .object(["result": true])
        },
        Route(.post, "events/:name", [.batchable, .transactional]) { _, _ in .object([:]) },
        Route(.get, "serverInfo", [.master, .batchable, .transactional]) { routes, _ in
            .object(
                ServerInformation.report(routes.configuration, hasJobs: !routes.backend.jobs.names.isEmpty))
        },
    ]

    /// Routes of the schemas API. Schema changes can't be part of a transaction.
    static let schemas = [
        Route(.get, "schemas", [.master, .batchable, .transactional]) { routes, _ in
            .object(["results": .array(try await routes.backend.schemas.all().map { .object($0) })])
        },
        Route(.get, "schemas/:class", [.master, .batchable, .transactional]) { routes, call in
            .object(try await routes.backend.schemas.describe(call[0]))
        },
        Route(.post, "schemas", [.master, .batchable]) { routes, call in
            .object(try await routes.backend.schemas.create(nil, call.envelope.body, call.context))
        },
        Route(.post, "schemas/:class", [.master, .batchable]) { routes, call in
            .object(try await routes.backend.schemas.create(call[0], call.envelope.body, call.context))
        },
        Route(.put, "schemas/:class", [.master, .batchable]) { routes, call in
            .object(try await routes.backend.schemas.update(call[0], call.envelope.body, call.context))
        },
        Route(.delete, "schemas/:class", [.master, .batchable]) { routes, call in
            try await routes.backend.schemas.delete(call[0], call.context)
            return .object([:])
        },
    ]

    /// Other routes that require the rights of the master key or of the read-only master key.
    static let administration =
        [
            Route(.get, "aggregate/:class", [.master, .batchable]) { routes, call in
                guard call.context.caller.power == .master || routes.configuration.allowAggregationForReadOnlyMasterKey
                else { throw HTTPError(status: 403, message: "Permission denied") }
                // Converting and serializing a large result is slow.
                return try await HeavyWork.run {
                    .object(try await routes.backend.aggregating.run(call[0], call.envelope.parameters, call.context))
                }
            },
            Route(.delete, "purge/:class", [.master, .batchable, .transactional]) { routes, call in
                try await routes.backend.schemas.purge(call[0], call.context)
                return .object([:])
            },
            Route(.get, "security", [.master]) { routes, _ in
                guard let report = routes.backend.securityReport.make() else {
                    throw HTTPError(
                        status: 409,
                        message: "Enable Parse Server option `security.enableCheck` to run security check.")
                }
                return .object(report)
            },
            Route(.get, "scriptlog", [.master]) { routes, call in
                .json(JSONValue.array(routes.backend.scriptLog.lines(call.envelope.parameters)).serialized())
            },
            Route(.get, "audit", [.master]) { routes, call in
                .object(try await routes.backend.store.audit.answer(call.envelope.parameters))
            },
            Route(.get, "slow_queries", [.master]) { routes, call in
                .object(try await routes.backend.slowOperations.answer(call.envelope.parameters))
            },
            Route(.get, "index_advice", [.master]) { routes, _ in
                .object(try await routes.backend.indexAdvising.answer())
            },
            Route(.get, "graphql-config", [.master]) { routes, _ in
                .object(try await routes.backend.graphQLConfig.read())
            },
            Route(.put, "graphql-config", [.master]) { routes, call in
                try await routes.backend.graphQLConfig.change(call.envelope.body, call.context)
                return .object(["result": true])
            },
        ] + pushes + audiences + schedules
}

/// The capability report that Parse Dashboard uses to choose its menus.
enum ServerInformation {
    static func report(_ configuration: Configuration, hasJobs: Bool) -> JSONObject {
        let all: JSONValue = ["create": true, "read": true, "update": true, "delete": true]
        return [
            "features": [
                "globalConfig": all,
                "hooks": all,
                "cloudCode": ["jobs": .bool(hasJobs)],
                "logs": ["level": true, "size": true, "order": true, "until": true, "from": true],
                "push": [
                    "immediatePush": .bool(configuration.push != nil),
                    "scheduledPush": .bool(configuration.push != nil && configuration.schedulesPushes),
                    "storedPushData": .bool(configuration.push != nil), "pushAudiences": true, "localization": true,
                ],
                "schemas": [
                    "addField": true, "removeField": true, "addClass": true, "removeClass": true,
                    "clearAllDataFromClass": true, "exportClass": false, "editClassLevelPermissions": true,
                    "editPointerPermissions": true,
                ],
                "settings": ["securityCheck": .bool(configuration.security.enableCheck)],
            ],
            "parseServerVersion": .string(configuration.parseServerVersion),
        ]
    }
}

/// Routes for pushes and push audiences.
extension RouteTable {
    static let pushes = [
        Route(.post, "push", [.master, .batchable]) { routes, call in
            let id = try await routes.backend.pusher.send(call.envelope.body, call.context, in: routes.backend)
            var reply = Reply.object(["result": true])
            reply.headers.append(("X-Parse-Push-Status-Id", id))
            return reply
        },
        Route(.get, "push/:objectId/failures", [.master]) { routes, call in
            let failures = try await routes.backend.pusher.failures(of: call[0], call.context, in: routes.backend)
            return .object(["results": .array(failures.map { .object($0) })])
        },
        Route(.get, "push/:objectId/report", [.master]) { routes, call in
            .object(try await routes.backend.pusher.report(of: call[0], call.context, in: routes.backend))
        },
    ]

    /// Audiences store their query as a string. Reads return it as an object.
    static let audiences = classRoutes("push_audiences", [], [.master]) { _ in "_Audience" }.map { route in
        route.method == .get ? route.changing { withQueries($0) } : route
    }

    private static func withQueries(_ reply: Reply) -> Reply {
        guard case .json(let bytes) = reply.body, var answer = try? JSONValue(parsing: bytes).objectValue else {
            return reply
        }
        if let results = answer["results"]?.arrayValue {
            answer["results"] = .array(results.map { .object(withQuery($0.objectValue ?? [:])) })
        } else {
            answer = withQuery(answer)
        }
        return .object(answer)
    }

    private static func withQuery(_ audience: JSONObject) -> JSONObject {
        var audience = audience
        if let text = audience["query"]?.stringValue {
            audience["query"] = (try? JSONValue(parsing: Array(text.utf8))) ?? .null
        }
        return audience
    }
}

/// Routes that list, create, change and delete webhooks.
extension RouteTable {
    static let hooks =
        hookRoutes("hooks/functions", "/:name", areFunctions: true) { .function($0[0]) }
        + hookRoutes("hooks/triggers", "/:class/:trigger", areFunctions: false) {
            .trigger(className: $0[0], trigger: $0[1])
        }

    private static func hookRoutes(
        _ path: String, _ below: String, areFunctions: Bool,
        _ name: @escaping @Sendable (RouteCall) -> Hooks.HookName
    ) -> [Route] {
        [
            Route(.get, path, [.master]) { routes, _ in
                let hooks = try await routes.backend.hooks.list(functions: areFunctions)
                return .json(JSONValue.array(hooks.map { .object($0) }).serialized())
            },
            Route(.post, path, [.master]) { routes, call in
                .object(
                    try await routes.backend.hooks.create(call.envelope.body, functions: areFunctions, call.context))
            },
            Route(.get, path + below, [.master]) { routes, call in
                .object(try await routes.backend.hooks.describe(name(call)))
            },
            Route(.put, path + below, [.master]) { routes, call in
                .object(try await routes.backend.hooks.change(name(call), call.envelope.body, call.context))
            },
            Route(.delete, path + below, [.master]) { routes, call in
                .object(try await routes.backend.hooks.change(name(call), ["__op": "Delete"], call.context))
            },
        ]
    }
}

/// Routes for jobs and their schedules.
extension RouteTable {
    static let jobs = [
        Route(.post, "jobs", [.master, .idempotent]) { routes, call in
            let parameters = call.envelope.parameters
            return try await started(parameters["jobName"]?.nameValue ?? "", parameters, routes, call)
        },
        Route(.post, "jobs/:name", [.master, .idempotent]) { routes, call in
            try await started(Name(call[0]), call.envelope.parameters, routes, call)
        },
    ]

    /// Starts a job, and responds before it ends. The job's row in `_JobStatus` shows its progress.
    private static func started(_ name: Name, _ parameters: JSONObject, _ routes: ParseRoutes, _ call: RouteCall)
        async throws -> Reply
    {
        var reply = Reply.object([:])
        reply.headers.append(
            ("X-Parse-Job-Status-Id", try await routes.backend.jobs.start(name, parameters, call.context)))
        return reply
    }

    /// Routes for job schedules, which Roost runs itself. parse-server only stores them.
    static let schedules = [
        Route(.get, "cloud_code/jobs", [.master]) { routes, call in
            let found = try JSONValue(parsing: try await routes.backend.finding.find("_JobSchedule", [:], call.context))
            return .json((found["results"] ?? .array([])).serialized())
        },
        Route(.get, "cloud_code/jobs/data", [.master]) { routes, call in
            let found = try JSONValue(
                parsing: try await routes.backend.finding.find("_JobSchedule", ["limit": 1000], call.context))
            let names = (found["results"]?.arrayValue ?? []).compactMap { $0["jobName"] }
            let jobs = routes.backend.jobs.names.map { JSONValue.string($0.text) }
            return .object(["in_use": .array(names), "jobs": .array(jobs)])
        },
        Route(.post, "cloud_code/jobs", [.master]) { routes, call in
            .saved(
                try await routes.backend.jobs.saveSchedule(nil, call.envelope.body, call.context), call.context.caller)
        },
        Route(.put, "cloud_code/jobs/:objectId", [.master]) { routes, call in
            let result = try await routes.backend.jobs.saveSchedule(call.objectId, call.envelope.body, call.context)
            // parse-server nests the update's response.
            return .object(["response": .object(result.body)])
        },
        Route(.delete, "cloud_code/jobs/:objectId", [.master]) { routes, call in
            try await routes.backend.deleting.delete("_JobSchedule", call.objectId, call.context)
            return .object([:])
        },
    ]
}
