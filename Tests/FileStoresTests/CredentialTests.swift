import FileStores
import Foundation
import JSON
import Logging
import ServerConfiguration
import Synchronization
import TestSupport
import Testing

@Suite("Cloud credentials")
struct CredentialTests {
    private static func provider(_ variables: [String: String]) throws -> any CredentialProvider<AWSCredentials> {
        try CredentialChain.provider(nil, region: "us-east-1", variables, S3OptionTests.load([:]).outgoing)
    }

    private static func credentials(_ variables: [String: String]) async throws -> AWSCredentials {
        let provider = try provider(variables)
        do {
            let credentials = try await provider.credentials()
            await provider.shutdown()
            return credentials
        } catch {
            await provider.shutdown()
            throw error
        }
    }

    private static let json =
        #"{"AccessKeyId":"k","SecretAccessKey":"s","Token":"t","Expiration":"2042-01-01T00:00:00Z"}"#
    private static let expected = AWSCredentials(
        accessKeyId: "k", secretAccessKey: "s", sessionToken: "t",
        expiration: Date(timeIntervalSince1970: 2_272_147_200))

    private static func file(_ text: String) throws -> String {
        let path = FileManager.default.temporaryDirectory.path + "/roost-credentials-\(UUID().uuidString)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test("Environment variables take precedence over the shared credentials file")
    func variables() async throws {
        let file = try Self.file("[default]\naws_access_key_id = f\naws_secret_access_key = s\n")
        let variables = ["AWS_SHARED_CREDENTIALS_FILE": file, "AWS_CONFIG_FILE": "/nowhere"]
        #expect(try await Self.credentials(variables).accessKeyId == "f")
        let both = variables.merging(["AWS_ACCESS_KEY_ID": "v", "AWS_SECRET_ACCESS_KEY": "s"]) { $1 }
        #expect(try await Self.credentials(both).accessKeyId == "v")
    }

    @Test("Reads the profile named by AWS_PROFILE and rejects single sign-on profiles")
    func profiles() async throws {
        let file = try Self.file(
            "[default]\naws_access_key_id=f\n# no\n[music]\naws_access_key_id = m\naws_secret_access_key = s\naws_session_token=t\n"
        )
        let config = try Self.file("[profile sso]\nsso_start_url = https://example.com\n")
        let variables = ["AWS_SHARED_CREDENTIALS_FILE": file, "AWS_CONFIG_FILE": config]
        let music = try await Self.credentials(variables.merging(["AWS_PROFILE": "music"]) { $1 })
        #expect(music == AWSCredentials(accessKeyId: "m", secretAccessKey: "s", sessionToken: "t"))
        #expect(throws: ConfigurationError.self) { try Self.provider(variables.merging(["AWS_PROFILE": "sso"]) { $1 }) }
    }

    @Test("Fetches an instance role's credentials with a metadata token")
    func instance() async throws {
        let behaviour: StoreStandIn.Behaviour = { call, _ in
            if call.method == "PUT" { return .reply(200, body: "token") }
            guard call.headers["x-aws-ec2-metadata-token"] == "token" else { return .reply(401) }
            return .reply(200, body: call.target.hasSuffix("/role") ? Self.json : "role")
        }
        try await StoreStandIn.run(behaviour) { store in
            let found = try await Self.credentials([
                "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:\(store.port)", "AWS_CONFIG_FILE": "/nowhere",
                "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
            ])
            #expect(found == Self.expected)
        }
    }

    @Test("Fetches container credentials with the token and rejects endpoints that aren't local")
    func container() async throws {
        let files = ["AWS_CONFIG_FILE": "/nowhere", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere"]
        let behaviour: StoreStandIn.Behaviour = { call, _ in
            call.headers["authorization"] == "secret" ? .reply(200, body: Self.json) : .reply(403)
        }
        try await StoreStandIn.run(behaviour) { store in
            let variables = files.merging([
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:\(store.port)/x",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN": "secret",
            ]) { $1 }
            let found = try await Self.credentials(variables)
            #expect(found == Self.expected)
        }
        for url in ["http://10.0.0.1/x", "http://127.0.0.1.example.com/x", "http://127.0.0.1@example.com/x"] {
            #expect(throws: ConfigurationError.self) {
                try Self.provider(files.merging(["AWS_CONTAINER_CREDENTIALS_FULL_URI": url]) { $1 })
            }
        }
    }

    @Test("Exchanges the web identity token in the file for credentials")
    func webIdentity() async throws {
        let file = try Self.file("identity\n")
        let behaviour: StoreStandIn.Behaviour = { call, _ in
            guard String(decoding: call.body, as: UTF8.self).contains("WebIdentityToken=identity") else {
                return .reply(400)
            }
            return .reply(
                200,
                body: "<R><Credentials><AccessKeyId>k</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
                    + "<SessionToken>t</SessionToken><Expiration>2042-01-01T00:00:00Z</Expiration></Credentials></R>")
        }
        try await StoreStandIn.run(behaviour) { store in
            let found = try await Self.credentials([
                "AWS_WEB_IDENTITY_TOKEN_FILE": file, "AWS_ROLE_ARN": "arn:aws:iam::1:role/files",
                "AWS_ENDPOINT_URL_STS": "http://127.0.0.1:\(store.port)",
            ])
            #expect(found == Self.expected)
        }
    }

    /// Counted credentials that are valid for a minute. The test moves the clock.
    private actor Short: CredentialProvider {
        nonisolated let name = "a test"
        nonisolated let clock = Mutex(Date(timeIntervalSince1970: 0))
        private(set) var count = 0

        func credentials() async throws -> AWSCredentials {
            count += 1
            let number = count
            try await Task.sleep(for: .milliseconds(50))
            return AWSCredentials(
                accessKeyId: "\(number)", secretAccessKey: "s",
                expiration: clock.withLock { $0.addingTimeInterval(60) })
        }
    }

    @Test("Renews credentials in the background before they expire, once for concurrent callers")
    func renewal() async throws {
        let short = Short()
        let source = CredentialSource(short, logger: TestServer.quietLogger) { short.clock.withLock { $0 } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { _ = try await source.current() } }
            try await group.waitForAll()
        }
        let first = await short.count
        #expect(first == 1)
        short.clock.withLock { $0 += 50 }
        let old = try await source.current()
        #expect(old.accessKeyId == "1")
        let isRenewed = try await eventually { try await source.current().accessKeyId == "2" }
        #expect(isRenewed)
        let renewed = await source.renew(those: .now)
        #expect(renewed)
    }
}
