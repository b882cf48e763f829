import CloudCode
import JSON
import Operations
import ParseModel
import ServerConfiguration

/// Calls to app code outside cloud code: adapters, options that are functions, and routes.
extension NodeHost {
    /// Returns the sign-in adapters that run in Node, by provider.
    ///
    /// - Parameter known: The built-in providers, whose steps the adapters of the same name may replace.
    package func authProviders(replacing known: [Name: any AuthProvider]) -> [Name: any AuthProvider] {
        var providers: [Name: any AuthProvider] = [:]
        for name in settings.providers.keys {
            providers[name] = NodeAuthProvider(name: name, host: self, builtIn: known[name])
        }
        return providers
    }

    /// Runs a step of an adapter, or an option that is a function.
    func adapt(_ call: CloudCall) async throws -> JSONValue? {
        try ResultReader.result(try await send(.adapter, call), of: call).value
    }

    /// Runs app code that a request waits for.
    ///
    /// - Throws: The code's error, 124 on timeout, 141 without a process, 155 on overload, or `CancellationError`.
    func run(
        _ name: Name, _ parameters: JSONObject, of request: ModuleRequest? = nil, within limit: Duration = .seconds(10),
        otherwise text: String
    ) async throws -> JSONValue? {
        var call = CloudCall(.function(name))
        call.params = parameters
        if let request {
            (call.ip, call.headers) = (request.address, request.headers)
            call.caller.installationId = request.installationId
            // Processes cache large records, so they aren't sent with every call.
            call.caller.user = request.stored
        }
        call.size = call.measured()
        // Cloud code may be waiting for this call, so it uses the slots of a nesting depth that functions seldom reach.
        (call.isNested, call.depth, call.isOfAdapter) = (true, CloudEngine.adapterDepth, true)
        do {
            return try await TimeLimit.run(limit) { [call] in try await self.adapt(call) }
        } catch let error as CloudFailure {
            throw ParseError(ParseError.scriptFailed, error.message ?? text)
        }
    }

    /// Calls an option that the app provides as a function.
    ///
    /// - Throws: `ParseError` if the function fails or returns no Boolean, so that the request is rejected.
    package func ask(_ option: Configuration.OptionFunction, _ request: JSONObject) async throws -> Bool {
        let failure = "The function in the option \(option.rawValue) failed or didn't return true or false."
        let answer = try await run(
            "@option", ["option": .string(option.rawValue), "request": .object(request)], otherwise: failure)
        guard let isOn = answer?.boolValue else { throw ParseError(ParseError.scriptFailed, failure) }
        return isOn
    }

    /// Calls the app's `masterKey` function. Doesn't queue: calls that clients cause must not delay it.
    ///
    /// - Throws: An error if the function fails, takes longer than 10 seconds or doesn't return a non-empty string.
    func askMasterKey() async throws -> String {
        var call = CloudCall(.function("@option"))
        call.params = ["option": "masterKey", "request": [:]]
        let value = try await TimeLimit.run(.seconds(10)) { [call] in
            let worker = try await self.pool.worker(within: self.settings.startWait)
            return try ResultReader.result(try await worker.call(.adapter, call), of: call).value
        }
        let key = value?.stringValue ?? ""
        guard !key.isEmpty else { throw ParseError(ParseError.scriptFailed, "The function masterKey returned no key.") }
        return key
    }

    /// Sends an account email with the app's own adapter.
    ///
    /// - Throws: `ParseError` if the adapter fails or takes longer than 25 seconds, or if no process is available.
    package func sendByAdapter(_ mail: JSONObject) async throws {
        var call = CloudCall(.function(Self.mailAdapter))
        call.params = mail
        do {
            _ = try await TimeLimit.run(.seconds(25)) { [call] in try await self.adapt(call) }
        } catch let error as CloudFailure {
            throw ParseError(ParseError.scriptFailed, error.message ?? "")
        }
    }

    /// The target name for the mail adapter. Providers can't have this name.
    private static let mailAdapter: Name = "@mail"

    /// Returns the socket of a process that serves the app's own routes, or nil if none is available in time.
    package func appSocket(within limit: Duration) async -> String? {
        let deadline = ContinuousClock.now + limit
        while true {
            if let socket = pool.workers.compactMap(\.appSocket).randomElement() { return socket }
            let rest = deadline - .now
            guard rest > .zero, (try? await pool.worker(within: rest)) != nil else { return nil }
            // The process is running but doesn't listen yet.
            try? await Task.sleep(for: min(rest, .milliseconds(50)))
        }
    }
}
