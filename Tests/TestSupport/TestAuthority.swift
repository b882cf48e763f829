import Crypto
import Foundation
import NIOSSL

/// A certificate authority for tests.
public final class TestAuthority: Sendable {
    private static let name = "Authority of the tests"
    private let key = P256.Signing.PrivateKey()
    public let pem: String

    public init() throws {
        let form = CertificateForm(authority: Self.name, key: key.publicKey.derRepresentation, .ecdsaSHA256)
        pem = try Self.signed(form, by: key)
    }

    private static func signed(_ form: CertificateForm, by key: P256.Signing.PrivateKey) throws -> String {
        CertificateForm.pem(try form.signed { try key.signature(for: $0).derRepresentation })
    }

    /// Creates a certificate for a host, and its key, in PEM.
    ///
    /// - Parameter end: The seconds until it expires.
    public func certificate(for host: String, end: Double = 86_400) throws -> (certificate: String, key: String) {
        let own = P256.Signing.PrivateKey()
        let form = CertificateForm(
            host, issuer: Self.name, key: own.publicKey.derRepresentation, .ecdsaSHA256, end: end)
        return (try Self.signed(form, by: key), own.pemRepresentation)
    }

    public func write(for host: String, end: Double = 86_400, to folder: String) throws {
        let (certificate, key) = try certificate(for: host, end: end)
        try certificate.write(toFile: folder + "/certificate.pem", atomically: true, encoding: .utf8)
        try key.write(toFile: folder + "/key.pem", atomically: true, encoding: .utf8)
    }

    func context(for host: String) throws -> NIOSSLContext {
        let (certificate, key) = try certificate(for: host)
        return try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))))
    }

    /// Returns the TLS context of a client that trusts only this authority.
    ///
    /// - Parameters:
    ///   - version: The only TLS version, or nil for all.
    ///   - cipher: The only TLS 1.2 cipher suite, or nil for the defaults.
    public func client(version: TLSVersion? = nil, cipher: NIOTLSCipher? = nil) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)))
        configuration.applicationProtocols = ["http/1.1"]
        if let version {
            configuration.minimumTLSVersion = version
            configuration.maximumTLSVersion = version
        }
        if let cipher { configuration.cipherSuiteValues = [cipher] }
        return try NIOSSLContext(configuration: configuration)
    }
}
