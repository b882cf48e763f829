import JSON
import ParseStorage
package import Push
import ServerConfiguration

/// Looks whether a deployment can send pushes, and sends one to try it.
package struct PushCheck {
    private let deployment: Deployment

    /// - Parameter deployment: Whose option `push` is tried.
    package init(_ deployment: Deployment) { self.deployment = deployment }

    /// Looks whether keys can be read and sign, and whether services answer. Nothing is sent.
    ///
    /// - Throws: `ConfigurationError` without the option.
    package func check() async throws -> [PushTrial.Finding] {
        try await trial().check()
    }

    /// Sends a notification to one device.
    ///
    /// - Parameter target: An id in `_Installation`, or a type and a token: `ios:ab12…`.
    /// - Returns: What the services said.
    /// - Throws: `ConfigurationError` for a device that there is not; what keeps the database from being read.
    package func send(to target: String) async throws -> [PushTrial.Finding] {
        let device = try await device(target)
        let findings = try await trial().send("A notification to try Roost.", to: device)
        guard !findings.isEmpty else {
            let app = device.app.map { " of the app \($0)" } ?? ""
            throw ConfigurationError("the option push has no entry for devices of type \(device.type)\(app)")
        }
        return findings
    }

    private func trial() throws -> PushTrial {
        guard let push = deployment.configuration.push else {
            throw ConfigurationError("the option push is not set (docs/push.md)")
        }
        return PushTrial(push, outgoing: deployment.configuration.outgoing, logger: LogOutput.quiet)
    }

    private func device(_ target: String) async throws -> PushTrial.Target {
        if let colon = target.utf8.firstIndex(of: UInt8(ascii: ":")) {
            return PushTrial.Target(
                type: Name(String(target[..<colon])), token: String(target[target.utf8.index(after: colon)...]))
        }
        let found = try await DatabaseAccess(deployment, logger: LogOutput.quiet).withClient {
            try await PushTarget.find(target, $0)
        }
        guard let found else { throw ConfigurationError("no installation with objectId \(target)") }
        guard let token = found.token else { throw ConfigurationError("the installation \(target) has no deviceToken") }
        let types = found.types.map { Name($0) }
        let served = types.first { deployment.configuration.push?.serves($0) == true }
        return PushTrial.Target(type: served ?? types.last ?? "", token: token, app: found.app)
    }
}
