import JSON
import ParseStorage
package import Push
import ServerConfiguration

/// Checks whether a deployment can send pushes, and sends a test notification.
package struct PushCheck {
    private let deployment: Deployment

    package init(_ deployment: Deployment) { self.deployment = deployment }

    /// Checks that the keys are valid and the services respond. Sends nothing.
    ///
    /// - Throws: `ConfigurationError` if the option `push` is not set.
    package func check() async throws -> [PushTrial.Finding] {
        try await trial().check()
    }

    /// Returns a function that runs ``check()`` and returns the findings as JSON, or nil without the option `push`.
    static func function(_ configuration: Configuration) -> (@Sendable () async throws -> JSONValue)? {
        guard let push = configuration.push else { return nil }
        // The findings are the response. Log lines about the check's own connections would look like the server's.
        let trial = PushTrial(push, outgoing: configuration.outgoing, logger: LogOutput.quiet)
        return {
            .array(
                try await trial.check().map {
                    let problem = $0.problem.map { JSONValue.string($0) } ?? .null
                    return [
                        "type": .string($0.type), "entry": .string($0.entry), "step": .string($0.step),
                        "problem": problem,
                    ]
                })
        }
    }

    /// Sends a test notification to one device.
    ///
    /// - Parameter target: An `_Installation` object id, or a device type and token such as `ios:ab12…`.
    /// - Returns: The responses of the services.
    /// - Throws: `ConfigurationError` if `push` is not set, or if the device isn't found, has no token or matches no
    ///   entry of `push`. Otherwise a database error.
    package func send(to target: String) async throws -> [PushTrial.Finding] {
        let (type, token, app) = try await device(target)
        let findings = try await trial().send("A test notification from Roost.", to: token, type: type, app: app)
        guard !findings.isEmpty else {
            let app = app.map { " of the app \($0)" } ?? ""
            throw ConfigurationError("the option push has no entry for devices of type \(type)\(app)")
        }
        return findings
    }

    private func trial() throws -> PushTrial {
        guard let push = deployment.configuration.push else {
            throw ConfigurationError("the option push is not set (docs/push.md)")
        }
        return PushTrial(push, outgoing: deployment.configuration.outgoing, logger: LogOutput.quiet)
    }

    private func device(_ target: String) async throws -> (type: Name, token: String, app: String?) {
        if let colon = target.utf8.firstIndex(of: UInt8(ascii: ":")) {
            return (Name(String(target[..<colon])), String(target[target.utf8.index(after: colon)...]), nil)
        }
        let found = try await DatabaseAccess(deployment).withClient {
            try await PushTarget.find(target, $0)
        }
        guard let found else { throw ConfigurationError("no installation with objectId \(target)") }
        guard let token = found.token else { throw ConfigurationError("the installation \(target) has no deviceToken") }
        let types = found.types.map { Name($0) }
        let served = types.first { deployment.configuration.push?.serves($0) == true }
        return (served ?? types.last ?? "", token, found.app)
    }
}
