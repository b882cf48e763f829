internal import Console
import Encoding
import JSON
import Logging
import Operations
import ParseStorage
import Postgres
import ServerConfiguration

/// Access to the console from the server's machine: sign-in tickets and operators.
package struct ConsoleAccess {
    private let deployment: Deployment

    package init(_ deployment: Deployment) { self.deployment = deployment }

    /// Creates a sign-in address of the console on this machine. It is valid once, for ten minutes.
    ///
    /// - Throws: `ConfigurationError` if the console is off, and database errors.
    package func open() async throws -> String {
        let configuration = deployment.configuration
        guard configuration.console.reach != .closed, !configuration.readOnly else {
            throw ConfigurationError("the console is off. Turn it on with console.enabled, and don't set readOnly")
        }
        return try await withBackend { backend in
            let ticket = try await ConsoleSignIn.ticket(in: backend.store)
            return
                "\(configuration.scheme)://localhost:\(configuration.port)\(configuration.console.path)/#ticket=\(ticket)"
        }
    }

    /// Returns the banner's lines for an address of the console.
    ///
    /// - Parameter command: The command that prints a sign-in link.
    package static func bannerLines(_ address: String, command: String) -> [(name: String, value: String)] {
        let hint = (name: "", value: "for a sign-in link, run: \(command)")
        return [(name: "console", value: address)] + (address.contains("#ticket=") ? [] : [hint])
    }

    /// Returns a command that prints a sign-in link for this server, whatever the current folder. It contains the file
    /// and the flags that locate the database and the console, with credentials masked.
    ///
    /// - Parameter program: The program as called. Ignored if it is not `roost`.
    package func openCommand(program: String = CommandLine.arguments.first ?? "") -> String {
        let configuration = deployment.configuration
        let settings = Dictionary(uniqueKeysWithValues: configuration.settings.map { ($0.name, $0) })
        var words = [program.hasSuffix("/roost") ? program : "roost", "console", "open"]
        if let file = deployment.configurationFile, let folder = deployment.configurationFolder, !deployment.isApp {
            words.append("\(folder)/\(FilePaths.name(of: file))")
        }
        func isMissing(_ name: String) -> Bool {
            switch settings[name]?.source {
            case .flag: true
            case .file: deployment.isApp
            default: false
            }
        }
        if let uri = configuration.databaseURI {
            if isMissing("databaseURI") { words += ["--databaseURI", Setting.withoutCredentials(uri)] }
        } else if words.count == 3 || ![.file, .default].contains(settings["dataDir"]?.source) {
            words += ["--dataDir", deployment.dataFolder]
        }
        for name in ["databaseSchema", "databaseOptions", "port", "https", "console"] where isMissing(name) {
            guard let value = settings[name]?.value else { continue }
            words += ["--\(name)", value.stringValue ?? String(decoding: value.serialized(), as: UTF8.self)]
        }
        return words.map(Banner.quoted).joined(separator: " ")
    }

    /// Adds an operator.
    ///
    /// - Throws: `ConfigurationError` for an unknown role, `ParseError` for the name or password, or a database error.
    package func addOperator(name: String, password: String, role: String) async throws {
        guard ConsoleRole(rawValue: role) != nil else {
            throw ConfigurationError("role must be owner, developer, editor or viewer", isUsage: true)
        }
        try await withBackend { backend in
            _ = try await backend.operators.add(name: name, password: password, role: role, from: "")
        }
    }

    private func withBackend<R: Sendable>(_ body: @Sendable (Backend) async throws -> R) async throws -> R {
        let logger = LogOutput.quiet
        return try await DatabaseAccess(deployment).withClient { client in
            let catalog = SchemaCatalog(
                client: client, senderId: Identifiers.hexadecimal(32), refusesMixedMembership: false, logger: logger)
            let store = ObjectStore(client: client, catalog: catalog, logger: logger)
            try await ConsoleTables(client: client).prepare()
            return try await body(Backend(configuration: deployment.configuration, store: store, logger: logger))
        }
    }
}
