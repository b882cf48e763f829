import Encoding
import Outgoing
import Platform
import ServerConfiguration

/// Finds AWS credentials, in the order of Amazon's own clients.
package enum CredentialChain {
    /// Returns the first provider that is configured, or else that of the virtual machine's role.
    ///
    /// - Throws: `ConfigurationError` if a configured provider can't be used or, without one, the role is disabled.
    ///   `HTTPCallFailure` if the trusted certificates can't be read.
    package static func provider(
        _ key: Configuration.S3.Key?, region: String, _ variables: [String: String], _ outgoing: Configuration.Outgoing
    ) throws -> any CredentialProvider<AWSCredentials> {
        if let key {
            return FixedCredentials(
                name: "filesAdapter.options",
                value: AWSCredentials(
                    accessKeyId: key.accessKeyId, secretAccessKey: key.secretAccessKey,
                    sessionToken: key.sessionToken))
        }
        if let id = variables["AWS_ACCESS_KEY_ID"], let secret = variables["AWS_SECRET_ACCESS_KEY"], !id.isEmpty,
            !secret.isEmpty
        {
            return FixedCredentials(
                name: "AWS_ACCESS_KEY_ID",
                value: AWSCredentials(
                    accessKeyId: id, secretAccessKey: secret, sessionToken: variables["AWS_SESSION_TOKEN"]))
        }
        if let file = variables["AWS_WEB_IDENTITY_TOKEN_FILE"], let role = variables["AWS_ROLE_ARN"] {
            return try WebIdentity(
                file: file, role: role, session: variables["AWS_ROLE_SESSION_NAME"], region: region, variables,
                outgoing)
        }
        if let profile = try SharedProfile.provider(variables, region: region, outgoing) { return profile }
        if let container = try ContainerCredentials(variables, outgoing) { return container }
        guard variables["AWS_EC2_METADATA_DISABLED"]?.lowercased() != "true" else {
            throw ConfigurationError(
                "option filesAdapter: no credentials. Set accessKeyId and secretAccessKey in "
                    + "s3overrides, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
        }
        return try InstanceCredentials(variables, outgoing)
    }

    /// Returns a client without a proxy, for addresses on the machine and in its cloud.
    static func localCaller(_ outgoing: Configuration.Outgoing) throws -> HTTPCaller {
        var settings = outgoing
        settings.proxy = nil
        return try HTTPCaller(
            settings, connectionsPerHost: 1, keptFor: .seconds(1), connectTime: .seconds(1))
    }
}

/// Credentials for signing AWS requests.
package struct AWSCredentials: StoreCredentials {
    package var accessKeyId: String
    var secretAccessKey: String
    var sessionToken: String?
    /// The time at which the credentials expire, or nil if they don't.
    package var expiration: Date?

    package init(accessKeyId: String, secretAccessKey: String, sessionToken: String? = nil, expiration: Date? = nil) {
        self.accessKeyId = accessKeyId
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiration = expiration
    }
}

struct FixedCredentials: CredentialProvider {
    let name: String
    let value: AWSCredentials

    func credentials() async throws -> AWSCredentials { value }
}

/// The configuration files of Amazon's own clients, by default in the home folder.
enum SharedProfile {
    static func provider(
        _ variables: [String: String], region: String, _ outgoing: Configuration.Outgoing
    ) throws -> (any CredentialProvider<AWSCredentials>)? {
        let home = FileManager.default.homeDirectoryForCurrentUser.path + "/.aws"
        let name = variables["AWS_PROFILE"] ?? "default"
        var values: [String: String] = [:]
        for (path, section) in [
            (variables["AWS_CONFIG_FILE"] ?? "\(home)/config", name == "default" ? name : "profile \(name)"),
            (variables["AWS_SHARED_CREDENTIALS_FILE"] ?? "\(home)/credentials", name),
        ] {
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { continue }
            values.merge(Self.section(section, of: text)) { $1 }
        }
        if let id = values["aws_access_key_id"], let secret = values["aws_secret_access_key"] {
            return FixedCredentials(
                name: "the profile \(name)",
                value: AWSCredentials(
                    accessKeyId: id, secretAccessKey: secret, sessionToken: values["aws_session_token"]))
        }
        if let role = values["role_arn"], let file = values["web_identity_token_file"] {
            return try WebIdentity(
                file: file, role: role, session: values["role_session_name"], region: region, variables, outgoing)
        }
        if let key = values.keys.sorted().first(where: {
            $0.hasPrefix("sso_") || ["source_profile", "credential_source", "credential_process"].contains($0)
        }) {
            throw ConfigurationError(
                "option filesAdapter: the profile \(name) has \(key), which is not supported. Set access keys")
        }
        guard variables["AWS_PROFILE"] == nil else {
            throw ConfigurationError("option filesAdapter: the profile \(name) (AWS_PROFILE) has no credentials")
        }
        return nil
    }

    /// Returns the values in a section, which has one `name = value` per line.
    static func section(_ name: String, of text: String) -> [String: String] {
        var values: [String: String] = [:]
        var isInside = false
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingBlanks()
            if line.hasPrefix("[") {
                isInside = line.dropFirst().prefix { $0 != "]" }.trimmingBlanks() == name
            } else if isInside, !line.hasPrefix("#"), !line.hasPrefix(";") {
                let parts = line.split(separator: "=", maxSplits: 1).map { $0.trimmingBlanks() }
                if parts.count == 2 { values[parts[0]] = parts[1] }
            }
        }
        return values
    }
}
