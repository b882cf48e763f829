import HTTP
import JSON
import Limits
import Operations
import Rules

/// `/classes/<Class>` and the short paths of system classes, such as `/users`.
extension RouteTable {
    static let objects =
        classRoutes("classes/:class", [.idempotent]) { $0[0] }
        + [
            // These come before the object routes of their classes, because `me` isn't an object id.
            Route(.get, "users/me", [.batchable, .transactional, .aboutSession]) { routes, call in
                .json(try await routes.backend.ownRecords.me(call.context))
            },
            Route(.get, "sessions/me", [.batchable, .transactional, .withoutSession]) { routes, call in
                .object(
                    try await routes.backend.sessions.own(token: call.envelope.credentials.sessionToken, call.context))
            },
        ]
        + ownRoutes("_User", [.idempotent]) + ownRoutes("_Session") + ownRoutes("_Role")
        + ownRoutes("_Installation", [.idempotent])

    private static func ownRoutes(_ className: Name, _ traits: Route.Traits = []) -> [Route] {
        ClassPath.own(of: className).map { path in classRoutes(path.text, traits) { _ in className.text } } ?? []
    }

    /// Returns the five routes of a class: find, get, create, update and delete.
    ///
    /// - Parameters:
    ///   - path: The path of the class.
    ///   - traits: Additional traits of creates and updates.
    ///   - shared: The traits of all five routes.
    ///   - className: Returns the class of a call.
    static func classRoutes(
        _ path: String, _ traits: Route.Traits = [], _ shared: Route.Traits = [.batchable, .transactional],
        _ className: @escaping @Sendable (RouteCall) -> String
    ) -> [Route] {
        let object = path + "/:objectId"
        return [
            Route(.get, path, shared) { routes, call in
                .json(
                    try await routes.backend.finding.find(
                        className(call), call.envelope.parameters, call.context,
                        shorten: call.envelope.authority?.shorten,
                        cost: call.envelope.authority.map { _ in Cost(isSlow: true) }))
            },
            Route(.get, object, shared) { routes, call in
                .json(
                    try await routes.backend.finding.get(
                        className(call), call.objectId, call.envelope.parameters, call.context,
                        shorten: call.envelope.authority?.shorten))
            },
            Route(.post, path, shared.union(traits)) { routes, call in
                .saved(
                    try await routes.backend.saving.create(className(call), call.envelope.body, call.context),
                    call.context.caller)
            },
            Route(.put, object, shared.union(traits)) { routes, call in
                .saved(
                    try await routes.backend.saving.update(
                        className(call), call.objectId, call.envelope.body, call.context,
                        ifUpdatedAt: call.envelope.authority?.ifUpdatedAt), call.context.caller)
            },
            Route(.delete, object, shared) { routes, call in
                let trashId = try await routes.backend.deleting.delete(
                    className(call), call.objectId, call.context, ifUpdatedAt: call.envelope.authority?.ifUpdatedAt,
                    keptFor: call.envelope.authority?.operatorName)
                var reply = Reply.object([:])
                if let trashId { reply.headers.append(("X-Roost-Trash", trashId)) }
                return reply
            },
        ]
    }
}

extension RouteCall {
    var objectId: String { arguments[arguments.count - 1] }
}

extension Reply {
    static func saved(_ result: WriteResult, _ caller: Caller) -> Reply {
        var result = result
        if caller.hiddenSecrets.contains(.sessionTokens) { result.body["sessionToken"] = nil }
        var reply = Reply(status: result.status, body: .json(result.answer.serialized()))
        if let location = result.location { reply.headers.append(("Location", location)) }
        return reply
    }
}
