import HTTP
import JSON
internal import Operations
internal import ParseModel
internal import ServerConfiguration

/// The routes with which owners manage operators.
extension ConsoleRouteTable {
    static let operators: [ConsoleRoute] = [
        ConsoleRoute(.get, "operators", .owner) { try await OperatorCalls(call: $0).operators() },
        ConsoleRoute(.post, "operators", .owner, isConfirmed: true) { try await OperatorCalls(call: $0).addOperator() },
        ConsoleRoute(.put, "operators/:id", .owner, isConfirmed: true) {
            try await OperatorCalls(call: $0).changeOperator()
        },
        ConsoleRoute(.delete, "operators/:id", .owner, isConfirmed: true) {
            try await OperatorCalls(call: $0).removeOperator()
        },
        ConsoleRoute(.post, "operators/:id/invitation", .owner, isConfirmed: true) {
            try await OperatorCalls(call: $0).invite()
        },
    ]
}

private struct OperatorCalls: ConsoleCalls {
    let call: ConsoleCall

    func operators() async throws -> Reply {
        let all = try await interface.backend.store.operators.all()
        return .object([
            "operators": .array(
                all.map { known in
                    [
                        "id": .string(known.id), "name": .string(known.name), "role": .string(known.role),
                        "totp": .bool(known.secret != nil),
                    ]
                })
        ])
    }

    func addOperator() async throws -> Reply {
        let body = try await body()
        try Self.refuseLimits(body)
        let name = body["name"]?.stringValue ?? ""
        let role = try role(body["role"]) ?? .viewer
        return try await call.audited(
            "operators", fields: ["name", "role", "password"],
            after: ["name": .string(name), "role": .string(role.rawValue)]
        ) {
            let id = try await interface.backend.operators.add(
                name: name, password: body["password"]?.stringValue ?? "", role: role.rawValue, from: visit.address)
            return .object(
                ["id": .string(id), "name": .string(name), "role": .string(role.rawValue), "address": .string(link)],
                status: 201)
        }
    }

    /// The address of the console for other operators: the one in this browser or, if that names only this machine,
    /// the one at `publicServerURL`.
    private var link: String {
        let path = "\(visit.path)/start"
        guard Configuration.Console.isOfThisMachine(visit.origin), let url = interface.configuration.publicServerURL,
            !Configuration.Console.isOfThisMachine(url)
        else { return visit.origin + path }
        return url.split(separator: "/").prefix(2).joined(separator: "//") + path
    }

    private static let maxInvitations = 20

    func invite() async throws -> Reply {
        let address = try await body()["email"]?.stringValue ?? ""
        return try await call.audited(
            "operators/\(arguments[0])/invitation", fields: ["email"], before: try await described()
        ) {
            guard let known = try await known() else {
                throw ParseError(ParseError.objectNotFound, "The operator doesn't exist.")
            }
            guard address.utf8.count <= 320, address.dropFirst().dropLast().contains("@"),
                address.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
            else {
                throw ParseError(ParseError.invalidEmailAddress, "Email address format is invalid.")
            }
            guard
                interface.invitations.countOneMore(
                    Name(session.operatorId ?? session.name), limit: Self.maxInvitations)
            else {
                throw HTTPError(status: 429, message: "You have sent too many invitations. Try again in an hour.")
            }
            try await interface.backend.mails.invite(
                known.name, at: address, link: link, context)
            return .object([:])
        }
    }

    func changeOperator() async throws -> Reply {
        let body = try await body()
        try Self.refuseLimits(body)
        let role = try role(body["role"])
        guard body["totp"] == nil || body["totp"] == false else {
            throw HTTPError(status: 400, message: "Only the operator can turn on the second factor.")
        }
        return try await call.audited(
            "operators/\(arguments[0])",
            fields: ["role", "password", "totp"].filter { body[Name($0)] != nil }, before: try await described(),
            after: role.map { ["role": .string($0.rawValue)] }
        ) {
            try await interface.backend.operators.change(
                id: arguments[0], password: body["password"]?.stringValue, role: role?.rawValue,
                dropsFactor: body["totp"] == false, from: visit.address)
            return .object([:])
        }
    }

    /// Rejects `classes` and `hidden`, the per-operator restrictions of earlier versions, with 400. Ignoring them would
    /// show the operator too much.
    private static func refuseLimits(_ body: JSONObject) throws {
        guard ["classes", "hidden"].allSatisfy({ body[$0]?.isNull ?? true }) else {
            throw HTTPError(
                status: 400, message: "classes and hidden are not supported. Choose a role with fewer permissions.")
        }
    }

    func removeOperator() async throws -> Reply {
        try await call.audited("operators/\(arguments[0])", before: try await described()) {
            guard try await interface.backend.store.operators.remove(id: arguments[0]) else {
                throw ParseError(ParseError.objectNotFound, "The operator doesn't exist.")
            }
            return .object([:])
        }
    }

    private func known() async throws -> StoredOperator? {
        try await interface.backend.store.operators.all().first { $0.id.hasSameBytes(as: arguments[0]) }
    }

    private func described() async throws -> JSONValue? {
        try await known().map { ["name": .string($0.name), "role": .string($0.role)] }
    }

    private func role(_ value: JSONValue?) throws -> ConsoleRole? {
        guard let value, !value.isNull else { return nil }
        guard let role = value.stringValue.flatMap(ConsoleRole.init(rawValue:)) else {
            throw HTTPError(status: 400, message: "role must be owner, developer, editor or viewer.")
        }
        return role
    }
}
