import Encoding
import JSON
import Outgoing
import Platform
import ServerConfiguration

/// Credentials from AWS STS, in exchange for the identity token that a cluster writes to a file in its containers.
struct WebIdentity: CredentialProvider {
    let name = "AWS_WEB_IDENTITY_TOKEN_FILE"
    private let file: String
    private let role: String
    private let session: String
    private let endpoint: String
    private let caller: HTTPCaller

    init(
        file: String, role: String, session: String?, region: String, _ variables: [String: String],
        _ outgoing: Configuration.Outgoing
    ) throws {
        self.file = file
        self.role = role
        self.session = session ?? "roost"
        let region = variables["AWS_REGION"] ?? region
        endpoint = variables["AWS_ENDPOINT_URL_STS"] ?? "https://sts.\(region).amazonaws.com"
        caller = try HTTPCaller(outgoing, connectionsPerHost: 1, keptFor: .seconds(1))
    }

    func credentials() async throws -> AWSCredentials {
        // The cluster rewrites the file from time to time.
        guard let token = try? String(contentsOfFile: file, encoding: .utf8) else {
            throw CredentialFailure(description: "can't read the token file \(file) of the role \(role)")
        }
        let form = [
            ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", role),
            ("RoleSessionName", session), ("WebIdentityToken", token.trimmingBlanks(newlines: true)),
        ].map { "\($0)=\(AWSSignature.encode($1, keepingSlashes: false))" }.joined(separator: "&")
        let reply = try await caller.send(
            HTTPCall(
                "POST", "\(endpoint)/", headers: [("Content-Type", "application/x-www-form-urlencoded")],
                body: Array(form.utf8)))
        let answer = XMLText(reply.body)
        guard reply.isSuccess, let id = answer["AccessKeyId"], let secret = answer["SecretAccessKey"] else {
            throw CredentialFailure(
                description: "can't assume the role \(role): \(S3Failure(status: reply.status, body: reply.body))")
        }
        return AWSCredentials(
            accessKeyId: id, secretAccessKey: secret, sessionToken: answer["SessionToken"],
            expiration: answer["Expiration"].flatMap { StoreDate.date(ofISODate: $0) })
    }

    func shutdown() async { await caller.shutdown() }
}

/// Credentials of a container, from the URL in its environment variables.
struct ContainerCredentials: CredentialProvider {
    let name = "AWS_CONTAINER_CREDENTIALS"
    private let url: String
    private let token: String?
    private let tokenFile: String?
    private let caller: HTTPCaller

    /// Creates the provider, or returns nil if the variables contain no URL.
    init?(_ variables: [String: String], _ outgoing: Configuration.Outgoing) throws {
        if let path = variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] {
            url = "http://169.254.170.2\(path)"
        } else if let full = variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] {
            guard Self.isTrusted(full) else {
                throw ConfigurationError(
                    "option filesAdapter: AWS_CONTAINER_CREDENTIALS_FULL_URI must begin with https:// or be local to this machine"
                )
            }
            url = full
        } else {
            return nil
        }
        token = variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"]
        tokenFile = variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"]
        caller = try CredentialChain.localCaller(outgoing)
    }

    /// Returns whether a URL may supply credentials. The credentials determine whose account receives the files.
    static func isTrusted(_ url: String) -> Bool {
        if url.hasPrefix("https://") { return true }
        guard url.hasPrefix("http://") else { return false }
        let authority = url.dropFirst("http://".count).prefix { !"/?#".contains($0) }
        let host = authority.hasPrefix("[") ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
        return ["localhost", "127.0.0.1", "169.254.170.2", "169.254.170.23", "[::1]", "[fd00:ec2::23]"]
            .contains(host.lowercased())
    }

    func credentials() async throws -> AWSCredentials {
        var headers: [(name: String, value: String)] = []
        if let tokenFile, let text = try? String(contentsOfFile: tokenFile, encoding: .utf8) {
            headers = [("Authorization", text.trimmingBlanks(newlines: true))]
        } else if let token {
            headers = [("Authorization", token)]
        }
        let reply = try await caller.send(HTTPCall("GET", url, headers: headers), timeLimit: .seconds(2))
        return try AWSCredentials(reply, from: name)
    }

    func shutdown() async { await caller.shutdown() }
}

/// Credentials of the role of a virtual machine, from its metadata service (version 2).
struct InstanceCredentials: CredentialProvider {
    let name = "the role of this machine"
    private let endpoint: String
    private let caller: HTTPCaller

    init(_ variables: [String: String], _ outgoing: Configuration.Outgoing) throws {
        let named = variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] ?? "http://169.254.169.254"
        endpoint = named.hasSuffix("/") ? String(named.dropLast()) : named
        caller = try CredentialChain.localCaller(outgoing)
    }

    func credentials() async throws -> AWSCredentials {
        let token = try await text(
            HTTPCall("PUT", "\(endpoint)/latest/api/token", headers: [("X-aws-ec2-metadata-token-ttl-seconds", "300")]))
        let headers = [(name: "X-aws-ec2-metadata-token", value: token)]
        let path = "\(endpoint)/latest/meta-data/iam/security-credentials/"
        let role = try await text(HTTPCall("GET", path, headers: headers)).prefix { !$0.isNewline }
        let reply = try await caller.send(HTTPCall("GET", path + role, headers: headers), timeLimit: .seconds(1))
        return try AWSCredentials(reply, from: name)
    }

    private func text(_ call: HTTPCall) async throws -> String {
        let reply = try await caller.send(call, timeLimit: .seconds(1))
        guard reply.isSuccess else {
            throw CredentialFailure(description: "this machine's metadata service responded with \(reply.status)")
        }
        return String(decoding: reply.body, as: UTF8.self)
    }

    func shutdown() async { await caller.shutdown() }
}

extension AWSCredentials {
    fileprivate init(_ reply: HTTPReply, from name: String) throws {
        guard reply.isSuccess, let json = reply.json, let id = json["AccessKeyId"]?.stringValue,
            let secret = json["SecretAccessKey"]?.stringValue
        else { throw CredentialFailure(description: "\(name) responded with \(reply.status) and no credentials") }
        self.init(
            accessKeyId: id, secretAccessKey: secret, sessionToken: json["Token"]?.stringValue,
            expiration: json["Expiration"]?.stringValue.flatMap { StoreDate.date(ofISODate: $0) })
    }
}
