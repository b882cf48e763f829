import HTTP
import JSON
internal import Operations
internal import ParseModel

/// The routes for an operator's own account: sessions, confirmation, password and second factor.
extension ConsoleRouteTable {
    static let account: [ConsoleRoute] = [
        ConsoleRoute(.post, "confirm", .viewer, .account) { try await AccountCalls(call: $0).confirm() },
        ConsoleRoute(.get, "sessions", .viewer) { try await AccountCalls(call: $0).sessions() },
        ConsoleRoute(.delete, "sessions/:id", .viewer, .account) {
            try await AccountCalls(call: $0).endSession()
        },
        ConsoleRoute(.put, "password", .viewer, .account, isConfirmed: true) {
            try await AccountCalls(call: $0).changePassword()
        },
        ConsoleRoute(.post, "totp", .viewer, .account, isConfirmed: true) {
            try await AccountCalls(call: $0).makeFactor()
        },
        ConsoleRoute(.put, "totp", .viewer, .account, isConfirmed: true) {
            try await AccountCalls(call: $0).turnFactorOn()
        },
        ConsoleRoute(.delete, "totp", .viewer, .account, isConfirmed: true) {
            try await AccountCalls(call: $0).turnFactorOff()
        },
    ]
}

private struct AccountCalls: ConsoleCalls {
    let call: ConsoleCall

    private var sessionRows: OperatorSessionRows { interface.backend.store.operatorSessions }

    func confirm() async throws -> Reply { try await interface.confirm(visit, session, body()) }

    /// Lists the operator's own sessions, or for an owner all sessions.
    func sessions() async throws -> Reply {
        let token = ConsoleSecrets.hash(visit.fields.token ?? "")
        return .object([
            "sessions": try await sessionRows.list(
                session, token: token, all: role == .owner, idle: interface.configuration.console.sessionLength)
        ])
    }

    func endSession() async throws -> Reply {
        try await call.audited("sessions/\(arguments[0])") {
            guard try await sessionRows.end(id: arguments[0], session, all: role == .owner) else {
                throw ParseError(ParseError.objectNotFound, "The session doesn't exist.")
            }
            return .object([:])
        }
    }

    // MARK: The password and the second factor

    private var ownId: String {
        get throws {
            guard let id = session.operatorId else {
                throw HTTPError(status: 400, message: "Only operators have a password and a second factor.")
            }
            return id
        }
    }

    /// Sets the operator's own password. Ends all sessions of the operator, including this one.
    func changePassword() async throws -> Reply {
        let (id, body) = (try ownId, try await body())
        guard let password = body["password"]?.stringValue else {
            throw HTTPError(status: 400, message: "password is required.")
        }
        return try await call.audited("password", fields: ["password"]) {
            try await interface.backend.operators.change(id: id, password: password, role: nil, from: visit.address)
            return .object([:])
        }
    }

    func makeFactor() async throws -> Reply {
        _ = try ownId
        let made = interface.signIn.factor.make(for: session.name)
        return .object(["secret": .string(made.secret), "url": .string(made.url)])
    }

    func turnFactorOn() async throws -> Reply {
        let (id, body) = (try ownId, try await body())
        return try await call.audited("totp", fields: ["totp"]) {
            guard let secret = body["secret"]?.stringValue, let code = body["code"]?.stringValue,
                try await interface.signIn.factor.turnOn(secret, code: code, of: id)
            else {
                throw HTTPError(
                    status: 400, message: "The code doesn't match. Enter the code that the authenticator app shows now."
                )
            }
            return .object([:])
        }
    }

    func turnFactorOff() async throws -> Reply {
        let id = try ownId
        return try await call.audited("totp", fields: ["totp"]) {
            _ = try await interface.backend.store.operators.set(secret: nil, step: 0, of: id)
            return .object([:])
        }
    }
}
