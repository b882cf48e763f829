import Backend
import JSON
import ParseModel

/// Logging in and out, and what else concerns an account.
extension ParseRoutes {
    func account(_ name: String, _ envelope: Envelope, _ context: RequestContext) async throws -> Reply? {
        switch (name, envelope.method) {
        case ("login", .get), ("login", .post):
            return .object(try await backend.logIn(Self.loginParameters(envelope), context))
        case ("verifypassword", .get), ("verifypassword", .post):
            return .object(try await backend.verifyPassword(Self.loginParameters(envelope), context))
        case ("loginas", .post):
            return .object(try await backend.logIn(as: envelope.parameters, context))
        case ("logout", .post):
            try await backend.logOut(context)
            return .object([:])
        case ("upgradetorevocablesession", .post):
            return .object(try await backend.upgradeSession(context))
        case ("requestpasswordreset", .post), ("verificationemailrequest", .post):
            // parse-server answers 500 here, which makes phones ask again and again.
            throw ParseError(
                ParseError.commandUnavailable,
                "An appName, publicServerURL, and emailAdapter are required for password reset and email "
                    + "verification functionality.")
        case ("challenge", .post):
            return .object(["challengeData": .object(try backend.challenge(envelope.body))])
        default: return nil
        }
    }

    /// The body's parameters; those of the query string only when the body names no user.
    ///
    /// What stands in a query string is taken as the text that it is: a password may look like JSON.
    private static func loginParameters(_ envelope: Envelope) -> JSONObject {
        let body = envelope.body
        guard body["username"]?.isTruthy != true, body["email"]?.isTruthy != true else { return body }
        return body.merging(envelope.queryText) { _, fromQuery in fromQuery }
    }
}
