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

    /// The adapter's properties as reported by a process.
    struct Description: Sendable {
        var methods: Set<String> = []
        var policy = AuthPolicy.standard

        init(_ json: JSONValue) {
            methods = Set(json["methods"]?.arrayValue?.compactMap(\.stringValue) ?? [])
            policy =
                switch json["policy"]?.stringValue {
                case "additional": .additional
                case "solo": .solo
                default: .standard
                }
        }
    }

    private var description: Description? { host.adapters[name] }

    var runsModule: Bool { true }

    func exchange(_ data: JSONObject, _ options: JSONObject) async throws -> JSONObject {
        guard description?.methods.contains("beforeFind") == true else { return data }
        let answer = try await run("beforeFind", ["authData": .object(data)])
        let data = answer?["authData"]?.objectValue ?? data
        // Users are looked up by this id.
        guard data["id"]?.stringValue?.isEmpty == false || data["id"]?.numberValue != nil else {
            throw ParseError(ParseError.scriptFailed, "Auth failed. beforeFind gave no id.")
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

    func policy(_ stored: JSONObject) -> AuthPolicy { description?.policy ?? .standard }

    /// Returns the stored data, or only its id if the adapter has an `afterFind` step that would change the data for
    /// readers.
    func visibleData(_ stored: JSONObject, _ options: JSONObject) -> JSONObject {
        guard description?.methods.contains("afterFind") == true else { return stored }
        return stored.filter { $0.key == "id" }
    }

    func challenge(_ data: JSONObject, _ attempt: AuthAttempt) async throws -> JSONValue? {
        guard description?.methods.contains("challenge") == true else { return nil }
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
        _ step: String, _ parameters: JSONObject, of request: ModuleRequest? = nil
    ) async throws -> JSONValue? {
        let parameters = parameters.merging(["step": .string(step)]) { $1 }
        return try await host.run(name, parameters, of: request, otherwise: "Auth failed. Unknown error.")
    }
}
