import AsyncHTTPClient
import NIOCore
import NIOSSL

/// An HTTPS client that connects to this machine under the name of a host. It reuses its connection.
public final class SecureClient: Sendable {
    private let client: HTTPClient
    private let host: String

    public init(to host: String, trusting authority: TestAuthority) throws {
        self.host = host
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.pem.utf8)))
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.dnsOverride = [host: "127.0.0.1"]
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1
        client = HTTPClient(eventLoopGroup: .singletonMultiThreadedEventLoopGroup, configuration: configuration)
    }

    public func get(_ path: String, port: Int) async throws -> TestAnswer {
        let request = HTTPClientRequest(url: "https://\(host):\(port)\(path)")
        let response = try await client.execute(request, timeout: .seconds(20))
        let body = try await response.body.collect(upTo: 1024 * 1024)
        let fields = response.headers.map { ($0.name.lowercased(), $0.value) }
        return TestAnswer(
            status: Int(response.status.code), headers: Dictionary(fields) { $1 }, bytes: Array(body.readableBytesView))
    }

    public func shutdown() async { try? await client.shutdown() }
}
