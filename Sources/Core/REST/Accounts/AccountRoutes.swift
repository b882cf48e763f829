import HTTP
import JSON
import Operations
import ParseModel

/// Routes for signing in and out and for other account actions. Logins can't be part of a transaction, because hashing
/// a password is slow and the new session is visible before the commit.
extension RouteTable {
    static let accounts: [Route] =
        [Method.get, .post].flatMap { method in
            [
                Route(method, "login", [.batchable, .withoutSession]) { routes, call in
                    .json(try await routes.backend.logIn.withPassword(call.envelope.loginParameters, call.context))
                },
                Route(method, "verifyPassword", [.batchable]) { routes, call in
                    .json(try await routes.backend.logIn.verifyPassword(call.envelope.loginParameters, call.context))
                },
            ]
        } + [
            Route(.post, "loginAs", [.batchable]) { routes, call in
                .json(try await routes.backend.logIn.asUser(call.envelope.parameters, call.context))
            },
            Route(.post, "logout", [.batchable, .aboutSession]) { routes, call in
                try await routes.backend.logIn.logOut(call.context)
                return .object([:])
            },
            Route(.post, "upgradeToRevocableSession", [.batchable]) { routes, call in
                .object(try await routes.backend.sessions.upgrade(call.context))
            },
            Route(.post, "requestPasswordReset", [.batchable]) { routes, call in
                try await routes.backend.passwordResets.requestPasswordReset(call.envelope.body, call.context)
                return .object([:])
            },
            Route(.post, "verificationEmailRequest", [.batchable]) { routes, call in
                try await routes.backend.verifications.requestVerification(call.envelope.body, call.context)
                return .object([:])
            },
            Route(.post, "challenge", [.batchable]) { routes, call in
                let answers = try await routes.backend.providers.challenge(call.envelope.body, call.context)
                return .object(["challengeData": .object(answers)])
            },
        ]
}

extension Envelope {
    /// The body's parameters, merged with the query string only if the body has no username or email.
    ///
    /// Query values are read as strings, because a password may look like JSON.
    fileprivate var loginParameters: JSONObject {
        guard body["username"]?.isTruthy != true, body["email"]?.isTruthy != true else { return body }
        return body.merging(queryText) { _, fromQuery in fromQuery }
    }
}
