import CloudCode
import JSON
import Operations
import ParseModel
import ServerConfiguration

/// A sign-in adapter in JavaScript, which runs in Node.
struct NodeAuthProvider: AuthProvider {
    /// The name in the option `auth`.
    let name: Name
    let host: NodeHost
    /// The provider of the same name whose check the adapter replaces, or nil if there is none. Its other steps remain
    /// unless the adapter has them.
    let builtIn: (any AuthProvider)?

    /// The adapter's properties as reported by a process.
    struct Description: Sendable {
        let methods: Set<String>
        /// The adapter's policy, or nil if it has none.
        let policy: AuthPolicy?

        init(_ json: JSONValue) {
            methods = Set(json["methods"]?.arrayValue?.compactMap(\.stringValue) ?? [])
            policy = json["policy"].map(Self.policy)
        }

        static func policy(_ json: JSONValue) -> AuthPolicy {
            switch json.stringValue {
            case "additional": .additional
            case "solo": .solo
            default: .standard
            }
        }
    }

    private var description: Description? { host.adapters[name] }

    private func has(_ method: String) -> Bool { description?.methods.contains(method) == true }

    var runsModule: Bool { true }

    func exchange(_ data: JSONObject, _ options: JSONObject) async throws -> JSONObject {
        guard has("beforeFind") else { return try await builtIn?.exchange(data, options) ?? data }
        let answer = try await run("beforeFind", ["authData": .object(data)])
        var data = answer?["authData"]?.objectValue ?? data
        if let number = data["id"]?.numberValue.flatMap({ Int64(exactly: $0) }) { data["id"] = .string("\(number)") }
        // Users are looked up by this id.
        guard data["id"]?.stringValue?.isEmpty == false else {
            throw ParseError(ParseError.scriptFailed, "Auth failed. beforeFind set no id.")
        }
        return data
    }

    func validate(_ data: JSONObject, _ options: JSONObject) async throws {
        _ = try await run("validateLogin", ["authData": .object(data)])
    }

    func check(_ attempt: AuthAttempt) async throws -> AuthOutcome {
        let step =
            switch attempt.purpose {
            case .setUp: "validateSetUp"
            case .logIn: "validateLogin"
            case .update: "validateUpdate"
            }
        let answer = try await run(step, Self.parameters(attempt), of: attempt.request)
        let isStored = answer?["doNotSave"] != true
        return AuthOutcome(
            stored: isStored ? answer?["save"]?.objectValue ?? attempt.data : nil,
            response: answer?["response"]?.objectValue)
    }

    /// Only log-ins call an adapter's `policy` function. Elsewhere, a provider with this function counts as a log-in
    /// method whose data needs no id.
    func policy(_ stored: JSONObject) -> AuthPolicy {
        has("policy") ? .solo : description?.policy ?? builtIn?.policy(stored) ?? .standard
    }

    func loginPolicy(_ attempt: AuthAttempt) async throws -> AuthPolicy {
        guard has("policy") else { return policy(attempt.stored ?? [:]) }
        let stored = Self.parameters(attempt).merging(["authData": .object(attempt.stored ?? [:])]) { $1 }
        return Description.policy(try await run("policy", stored, of: attempt.request)?["policy"] ?? .null)
    }

    var choosesShownData: Bool { has("afterFind") }

    func shownData(_ stored: [JSONObject], of users: [String], _ attempt: AuthAttempt) async -> [JSONValue] {
        var parameters = Self.parameters(attempt)
        parameters["changes"] = nil
        parameters["authData"] = .array(stored.map(JSONValue.object))
        parameters["users"] = .array(users.map(JSONValue.string))
        parameters["isRequestFirst"] = .bool(host.settings.preset < 8)
        let answer = try? await run("afterFind", parameters, of: attempt.request, within: .seconds(2))
        return answer?["shown"]?.arrayValue ?? []
    }

    /// Returns the login data without running the adapter's `afterFind` step: only the id, if there is such a step.
    func visibleData(_ stored: JSONObject, _ options: JSONObject) -> JSONObject {
        guard has("afterFind") else { return builtIn?.visibleData(stored, options) ?? stored }
        return stored.filter { $0.key == "id" }
    }

    func challenge(_ data: JSONObject, _ attempt: AuthAttempt) async throws -> JSONValue? {
        guard has("challenge") else { return try await builtIn?.challenge(data, attempt) }
        var parameters = Self.parameters(attempt)
        parameters["challengeData"] = .object(data)
        if attempt.data.isEmpty { parameters["authData"] = nil }
        return try await run("challenge", parameters, of: attempt.request)?["challenge"]
    }

    private static func parameters(_ attempt: AuthAttempt) -> JSONObject {
        var parameters: JSONObject = ["authData": .object(attempt.data), "isMaster": .bool(attempt.isMaster)]
        guard let request = attempt.request else { return parameters }
        parameters["changes"] = request.changes.map(JSONValue.object)
        parameters["user"] = request.user.map(JSONValue.object)
        for (name, flag) in [
            ("isCaller", request.isCaller), ("hasOriginal", request.hasOriginal), ("isChallenge", request.isChallenge),
        ] as [(Name, Bool)] { parameters[name] = .bool(flag) }
        return parameters
    }

    private func run(
        _ step: String, _ parameters: JSONObject, of request: ModuleRequest? = nil,
        within limit: Duration = .seconds(10)
    ) async throws -> JSONValue? {
        let parameters = parameters.merging(["step": .string(step)]) { $1 }
        return try await host.run(
            name, parameters, of: request, within: limit, otherwise: "Auth failed. Unknown error.")
    }
}
