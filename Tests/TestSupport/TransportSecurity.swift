import Foundation
import HTTP
import NIOSSL

/// A server certificate for tests, and clients that trust its authority.
package struct TransportSecurity {
    package let authority: TestAuthority
    package let folder: String
    package let certificate: ServerCertificate

    /// Creates the certificate of `one.example` in a folder that the test must delete.
    package init() throws {
        authority = try TestAuthority()
        folder = FileManager.default.temporaryDirectory.path + "/roost-tls-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try authority.write(for: "one.example", to: folder)
        certificate = try ServerCertificate(certificateFile: folder + "/certificate.pem", keyFile: folder + "/key.pem")
    }

    /// Returns a TLS client for the same port.
    ///
    /// - Parameters:
    ///   - version: The only TLS version, or nil for all.
    ///   - cipher: The only TLS 1.2 cipher suite, or nil for the defaults.
    package func client(
        _ plain: TransportClient, for host: String = "one.example", _ version: TLSVersion? = nil,
        cipher: NIOTLSCipher? = nil
    ) throws -> TransportClient {
        TransportClient(port: plain.port, security: (try authority.client(version: version, cipher: cipher), host))
    }
}
