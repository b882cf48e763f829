import HTTP
import JSON
import Operations
import ParseModel

/// What Parse Dashboard keeps for pushes and jobs.
extension RouteTable {
    /// Audiences keep their query as text; it is shown as the object that it is.
    static let audiences = classRoutes("push_audiences", [], [.master]) { _ in "_Audience" }.map { route in
        guard route.method == .get else { return route }
        let handler = route.handler
        return route.answering { routes, call in withQueries(try await handler(routes, call)) }
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
        if let text = audience["query"]?.stringValue, let query = try? JSONValue(parsing: Array(text.utf8)) {
            audience["query"] = query
        }
        return audience
    }

    /// Schedules of jobs. No job is deployed, so none can be scheduled; those that are there are shown and removed.
    static let schedules = [
        Route(.get, "cloud_code/jobs", [.master]) { routes, call in
            let found = try JSONValue(parsing: try await routes.backend.find("_JobSchedule", [:], call.context))
            return .json((found["results"] ?? .array([])).serialized())
        },
        Route(.get, "cloud_code/jobs/data", [.master]) { routes, call in
            let found = try JSONValue(
                parsing: try await routes.backend.find("_JobSchedule", ["limit": 1000], call.context))
            let names = (found["results"]?.arrayValue ?? []).compactMap { $0["jobName"] }
            return .object(["in_use": .array(names), "jobs": []])
        },
        Route(.post, "cloud_code/jobs", [.master]) { _, _ in throw noJobIsDeployed },
        Route(.put, "cloud_code/jobs/:objectId", [.master]) { _, _ in throw noJobIsDeployed },
        Route(.delete, "cloud_code/jobs/:objectId", [.master]) { routes, call in
            try await routes.backend.delete("_JobSchedule", call.objectId, call.context)
            return .object([:])
        },
    ]

    private static let noJobIsDeployed = ParseError(
        ParseError.scriptFailed, "Cannot Schedule a job that is not deployed")
}
