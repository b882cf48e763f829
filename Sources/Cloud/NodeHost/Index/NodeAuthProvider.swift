import CloudCode
import JSON
import Operations
import ParseModel
import ServerConfiguration

/// A sign-in adapter of the app's own, which runs in Node.
struct NodeAuthProvider: AuthProvider {
    /// The name in the option `auth`.
    let name: Name
    let host: NodeHost

    /// An adapter as a process describes it.
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

    /// How long one step may take. A log-in isn't let through when it takes longer.
    private static let limit = Duration.seconds(10)

    private var description: Description? { host.adapters[name] }

    var runsModule: Bool { true }

    func exchange(_ data: JSONObject, _ options: JSONObject) async throws -> JSONObject {
        guard description?.methods.contains("beforeFind") == true else { return data }
        let answer = try await run("beforeFind", ["authData": .object(data)])
        let data = answer?["authData"]?.objectValue ?? data
        // Users are looked for by it.
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
        let answer = try await run(
            step, ["authData": .object(attempt.data), "isMaster": .bool(attempt.isMaster)])
        let isStored = answer?["doNotSave"] != true
        return AuthOutcome(
            stored: isStored ? answer?["save"]?.objectValue ?? attempt.data : nil,
            response: answer?["response"]?.objectValue)
    }

    func policy(_ stored: JSONObject) -> AuthPolicy { description?.policy ?? .standard }

    /// Data that the adapter would change for readers (`afterFind`) are hidden but for the id.
    func shown(_ stored: JSONObject, _ options: JSONObject) -> JSONObject {
        guard description?.methods.contains("afterFind") == true else { return stored }
        return stored.filter { $0.key == "id" }
    }

    func challenge(_ data: JSONObject, _ attempt: AuthAttempt) async throws -> JSONValue? {
        guard description?.methods.contains("challenge") == true else { return nil }
        var parameters: JSONObject = ["challengeData": .object(data), "isMaster": .bool(attempt.isMaster)]
        if !attempt.data.isEmpty { parameters["authData"] = .object(attempt.data) }
        return try await run("challenge", parameters)?["challenge"]
    }

    /// Runs a step of the adapter.
    ///
    /// - Throws: `ParseError`: what the adapter threw, 124 when it takes too long, 141 when the process is gone.
    private func run(_ step: String, _ parameters: JSONObject) async throws -> JSONValue? {
        var call = CloudCall(.function(name))
        call.params = parameters.merging(["step": .string(step)]) { $1 }
        // Cloud code may wait for a log-in: steps have slots that functions seldom take.
        (call.isNested, call.depth) = (true, 8)
        do {
            return try await TimeLimit.run(Self.limit) { [call] in try await host.adapt(call) }
        } catch let error as CloudFailure {
            throw ParseError(ParseError.scriptFailed, error.message ?? "Auth failed. Unknown error.")
        }
    }
}
