import HTTP
import JSON
import Operations

/// Pushes, and what Parse Dashboard keeps for them.
extension RouteTable {
    static let pushes = [
        Route(.post, "push", [.master, .batchable]) { routes, call in
            let id = try await routes.backend.push(call.envelope.body, call.context)
            var reply = Reply.object(["result": true])
            reply.headers.append(("X-Parse-Push-Status-Id", id))
            return reply
        },
        Route(.get, "push/:objectId/failures", [.master]) { routes, call in
            let failures = try await routes.backend.pushFailures(of: call[0], call.context)
            return .object(["results": .array(failures.map { .object($0) })])
        },
    ]

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
        if let text = audience["query"]?.stringValue {
            audience["query"] = (try? JSONValue(parsing: Array(text.utf8))) ?? .null
        }
        return audience
    }
}
