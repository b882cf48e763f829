import CloudCode
import JSON
import Operations
import ParseModel
import ServerConfiguration

/// The adapters and the routes of an app, beside its cloud code.
extension NodeHost {
    /// The sign-in adapters that run in the processes, by provider.
    package var authProviders: [Name: any AuthProvider] {
        var providers: [Name: any AuthProvider] = [:]
        for name in settings.providers.keys { providers[name] = NodeAuthProvider(name: name, host: self) }
        return providers
    }

    /// Carries out a step of a sign-in adapter.
    func adapt(_ call: CloudCall) async throws -> JSONValue? {
        try ResultReader.result(try await send(.adapter, call), of: call).value
    }

    /// Runs app code that a request waits for.
    ///
    /// - Throws: `ParseError`: the code's own, 124 after 10 seconds, 141 if the process ended.
    func run(
        _ name: Name, _ parameters: JSONObject, of request: ModuleRequest? = nil, otherwise text: String
    ) async throws -> JSONValue? {
        var call = CloudCall(.function(name))
        call.params = parameters
        if let request {
            (call.ip, call.headers) = (request.address, request.headers)
            call.caller.installationId = request.installationId
            // A process gets a large one once.
            call.caller.user = request.stored
        }
        call.size = call.measured()
        // Cloud code may wait for a log-in: steps have slots that functions seldom take.
        (call.isNested, call.depth) = (true, 8)
        do {
            return try await TimeLimit.run(.seconds(10)) { [call] in try await self.adapt(call) }
        } catch let error as CloudFailure {
            throw ParseError(ParseError.scriptFailed, error.message ?? text)
        }
    }

    /// Calls an option that the app gives as a function.
    ///
    /// - Throws: `ParseError` if the function fails: the request that needs the option is refused.
    package func ask(_ option: Configuration.OptionFunction, _ request: JSONObject) async throws -> Bool {
        let failure = "The option \(option.rawValue) failed."
        let answer = try await run(
            "@option", ["option": .string(option.rawValue), "request": .object(request)], otherwise: failure)
        guard let isOn = answer?.boolValue else { throw ParseError(ParseError.scriptFailed, failure) }
        return isOn
    }

    /// Calls the app's function `masterKey`.
    ///
    /// - Throws: `ParseError` if the function fails or gives no text.
    func askMasterKey() async throws -> String {
        let failure = "The option masterKey failed."
        let parameters: JSONObject = ["option": "masterKey", "request": [:]]
        let key = try await run("@option", parameters, otherwise: failure)?.stringValue ?? ""
        guard !key.isEmpty else { throw ParseError(ParseError.scriptFailed, "it returned no string") }
        return key
    }

    /// Sends a mail of an account by the app's own adapter.
    ///
    /// - Throws: `ParseError` if the adapter fails, takes longer than 25 seconds or has no process.
    package func sendByAdapter(_ mail: JSONObject) async throws {
        var call = CloudCall(.function(Self.mailAdapter))
        call.params = mail
        do {
            _ = try await TimeLimit.run(.seconds(25)) { [call] in try await self.adapt(call) }
        } catch let error as CloudFailure {
            throw ParseError(ParseError.scriptFailed, error.message ?? "")
        }
    }

    /// The name by which the mail adapter is called. No provider has it.
    private static let mailAdapter: Name = "@mail"

    /// The socket of a process in which an app's own routes are served; nil if none comes in time.
    package func appSocket(within limit: Duration) async -> String? {
        let deadline = ContinuousClock.now + limit
        while true {
            if let socket = pool.workers.compactMap(\.appSocket).randomElement() { return socket }
            let rest = deadline - .now
            guard rest > .zero, (try? await pool.worker(within: rest)) != nil else { return nil }
            // The process is there and does not listen yet.
            try? await Task.sleep(for: min(rest, .milliseconds(50)))
        }
    }
}
