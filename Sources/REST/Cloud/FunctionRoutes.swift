import CloudCode
import HTTP
import JSON
import ParseModel

/// `POST /functions/<name>`.
extension RouteTable {
    static let functions = [
        Route(.post, "functions/:name", [.batchable, .idempotent]) { routes, call in try await routes.callFunction(call)
        }
    ]
}

extension ParseRoutes {
    /// Calls a function of cloud code.
    ///
    /// - Throws: 141 for a name that there is not; what the function throws.
    fileprivate func callFunction(_ call: RouteCall) async throws -> Reply {
        let name = call[0]
        let target = CloudTarget.function(Name(name))
        guard let cloud, cloud.offers(target) else { throw Self.noFunction(name) }
        var request = CloudCall(target, call.context, user: try await backend.userRecord(call.context))
        request.params = call.envelope.body
        // What stands in a query string is taken as the text that it is.
        if !call.envelope.queryString.isEmpty { request.params.merge(call.envelope.queryText) { $1 } }
        guard let result = try await cloud.call(request) else { throw Self.noFunction(name) }
        var answer: JSONObject = [:]
        answer["result"] = result.value
        var reply = Reply.object(answer, status: result.status ?? 200)
        reply.headers = result.headers.map { ($0.name, $0.value) }
        return reply
    }

    private static func noFunction(_ name: String) -> ParseError {
        ParseError(ParseError.scriptFailed, "Invalid function: \"\(name)\"")
    }
}
