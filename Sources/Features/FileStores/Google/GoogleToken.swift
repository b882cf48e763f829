import JSON
import Logging
import Outgoing
import Platform
import ServerConfiguration

struct GoogleToken: StoreCredentials {
    var text: String
    var expiration: Date?

    init(_ token: ServiceAccount.Token) {
        text = token.text
        expiration = Date().addingTimeInterval(token.lifetime)
    }
}

struct AccountTokens: CredentialProvider {
    let name: String
    private let account: ServiceAccount
    private let caller: HTTPCaller

    /// - Parameter name: The option or variable that contains the account or its path.
    /// - Throws: `ConfigurationError` if the account can't be used.
    init(
        _ account: JSONValue, from name: String, in folder: String, _ outgoing: Configuration.Outgoing
    ) throws {
        self.name = name
        self.account = try ServiceAccount(account, name, in: folder)
        caller = try HTTPCaller(outgoing, connectionsPerHost: 1, keptFor: .seconds(1))
    }

    func credentials() async throws -> GoogleToken {
        do {
            return GoogleToken(try await account.token(for: "devstorage.read_write", by: caller))
        } catch let failure as ServiceAccount.Failure {
            throw CredentialFailure(description: failure.reason)
        }
    }

    func shutdown() async { await caller.shutdown() }
}

/// Tokens for the service account of a Google virtual machine, from its metadata server.
struct MachineTokens: CredentialProvider {
    let name = "the service account of this machine"
    private let address: String
    private let caller: HTTPCaller

    init(_ variables: [String: String], _ outgoing: Configuration.Outgoing) throws {
        address =
            "http://\(variables["GCE_METADATA_HOST"] ?? "metadata.google.internal")"
            + "/computeMetadata/v1/instance/service-accounts/default/token"
        caller = try CredentialChain.localCaller(outgoing)
    }

    func credentials() async throws -> GoogleToken {
        let reply = try await caller.send(
            HTTPCall("GET", address, headers: [("Metadata-Flavor", "Google")]), timeLimit: .seconds(3))
        guard let token = ServiceAccount.Token(reply) else {
            throw CredentialFailure(description: "this machine's metadata service responded with \(reply.status)")
        }
        return GoogleToken(token)
    }

    func shutdown() async { await caller.shutdown() }
}

extension CredentialSource<GoogleToken> {
    /// Creates a source of tokens for the first account found: in the options, in `GOOGLE_APPLICATION_CREDENTIALS` or
    /// on the machine.
    ///
    /// - Throws: `ConfigurationError` if the account can't be used.
    convenience init(
        _ store: Configuration.GoogleStorage, _ configuration: Configuration, logger: Logger
    ) throws {
        let (variables, outgoing) = (configuration.cloudVariables, configuration.outgoing)
        if let account = store.account {
            let name = "filesAdapter.options.\(account.stringValue == nil ? "credentials" : "keyFilename")"
            self.init(try AccountTokens(account, from: name, in: store.folder, outgoing), logger: logger)
        } else if let path = variables["GOOGLE_APPLICATION_CREDENTIALS"], !path.isEmpty {
            let name = "GOOGLE_APPLICATION_CREDENTIALS"
            self.init(try AccountTokens(.string(path), from: name, in: store.folder, outgoing), logger: logger)
        } else {
            self.init(try MachineTokens(variables, outgoing), logger: logger)
        }
    }
}
