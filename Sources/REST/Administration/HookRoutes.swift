import HTTP
import JSON
import Operations

/// Declared webhooks, as Parse Dashboard shows and changes them.
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
