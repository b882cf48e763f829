import HTTP
import JSON
import Operations

/// Jobs and their schedules, as administrators and Parse Dashboard start and change them.
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

    /// The answer comes at once; how the job goes on is told by its row in `_JobStatus`.
    private static func started(_ name: Name, _ parameters: JSONObject, _ routes: ParseRoutes, _ call: RouteCall)
        async throws -> Reply
    {
        var reply = Reply.object([:])
        reply.headers.append(
            ("X-Parse-Job-Status-Id", try await routes.backend.jobs.start(name, parameters, call.context)))
        return reply
    }

    /// Schedules of jobs. parse-server keeps them and leaves it to others to run them.
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
            .saved(try await routes.backend.jobs.saveSchedule(nil, call.envelope.body, call.context))
        },
        Route(.put, "cloud_code/jobs/:objectId", [.master]) { routes, call in
            let result = try await routes.backend.jobs.saveSchedule(call.objectId, call.envelope.body, call.context)
            // parse-server puts the answer of the update into one of its own.
            return .object(["response": .object(result.body)])
        },
        Route(.delete, "cloud_code/jobs/:objectId", [.master]) { routes, call in
            try await routes.backend.deleting.delete("_JobSchedule", call.objectId, call.context)
            return .object([:])
        },
    ]
}
