import CloudCode
import JSON
import Operations
import ParseModel

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
