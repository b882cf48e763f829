import Foundation
import HTTP
import NIOSSL

/// Files of a certificate of a test's own, a server's TLS by them, and clients that trust it.
package struct TransportSecurity {
    package let authority: TestAuthority
    package let folder: String
    package let certificate: ServerCertificate

    /// Makes the certificate of `one.example`, in a folder that the test removes.
    package init() throws {
        authority = try TestAuthority()
        folder = FileManager.default.temporaryDirectory.path + "/roost-tls-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try authority.write(for: "one.example", to: folder)
        certificate = try ServerCertificate(certificateFile: folder + "/certificate.pem", keyFile: folder + "/key.pem")
    }

    /// A client of the same server that speaks TLS.
    ///
    /// - Parameters:
    ///   - version: The one version that it speaks; nil for all.
    ///   - cipher: The one cipher suite of TLS 1.2 that it knows; nil for the usual ones.
    package func client(
        _ plain: TransportClient, for host: String = "one.example", _ version: TLSVersion? = nil,
        cipher: NIOTLSCipher? = nil
    ) throws -> TransportClient {
        TransportClient(port: plain.port, security: (try authority.client(version: version, cipher: cipher), host))
    }
}
