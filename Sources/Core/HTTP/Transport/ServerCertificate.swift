import Encoding
import NIOSSL
import Platform
import Synchronization

/// The TLS certificate and key of the server. After a reload, new connections use the new ones, and open connections
/// continue unchanged.
public final class ServerCertificate: Sendable {
    /// The error for files that the server can't use.
    public struct Unusable: Error, CustomStringConvertible {
        /// The message for the operator.
        public let description: String

        fileprivate init(description: String) { self.description = description }

        /// The error for a file that can't be opened or has the wrong content.
        fileprivate init(_ name: String, _ file: String, _ content: String) {
            let reason = access(file, R_OK) == 0 ? "it contains \(content)" : String(cString: strerror(errno))
            description = "the \(name) \(file) can't be read: \(reason)"
        }
    }

    private let certificateFile: String
    private let keyFile: String
    private let current: Mutex<Loaded>

    private struct Loaded {
        let context: NIOSSLContext
        /// The expiry time of the certificate, in seconds since 1970.
        let end: Int
    }

    /// Reads the files.
    ///
    /// - Parameters:
    ///   - certificateFile: The PEM file of the certificate and its chain.
    ///   - keyFile: The PEM file of the private key, not encrypted.
    /// - Throws: ``Unusable`` if a file can't be read or the key doesn't match the certificate.
    public init(certificateFile: String, keyFile: String) throws(Unusable) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        current = Mutex(try Self.load(certificateFile, keyFile))
    }

    /// Reads the files again. Keeps the old certificate if they are unusable.
    ///
    /// - Throws: ``Unusable`` if a file can't be read or the key doesn't match the certificate.
    public func reload() throws(Unusable) {
        let loaded = try Self.load(certificateFile, keyFile)
        current.withLock { $0 = loaded }
    }

    /// The TLS context for new connections.
    var context: NIOSSLContext { current.withLock { $0.context } }

    /// The expiry time of the certificate, in seconds since 1970.
    public var end: Int { current.withLock { $0.end } }

    /// A warning that the certificate has expired, or nil if it hasn't.
    public var warning: String? {
        let end = current.withLock { $0.end }
        guard end < Int(time(nil)) else { return nil }
        return "the certificate \(certificateFile) expired at \(HTTPDate.string(seconds: end)). Renew it"
    }

    /// The time in seconds for the client to confirm the end of a connection.
    private static let shutdownTime: Int64 = 2

    /// TLS 1.2 cipher suites with authenticated encryption and forward secrecy. All suites of TLS 1.3 have both.
    private static let cipherSuites: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    private static func load(_ certificateFile: String, _ keyFile: String) throws(Unusable) -> Loaded {
        guard let chain = try? NIOSSLCertificate.fromPEMFile(certificateFile), let own = chain.first else {
            throw Unusable("certificate", certificateFile, "no PEM certificate")
        }
        // Without this callback, BoringSSL would ask for a passphrase on the terminal, where no user could type it.
        guard let key = try? NIOSSLPrivateKey(file: keyFile, format: .pem, passphraseCallback: { $0([UInt8]()) }) else {
            throw Unusable("key", keyFile, "no unencrypted PEM key")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = cipherSuites
        configuration.applicationProtocols = ["http/1.1"]
        configuration.shutdownTimeout = .seconds(shutdownTime)
        do {
            return Loaded(context: try NIOSSLContext(configuration: configuration), end: Int(own.notValidAfter))
        } catch {
            throw Unusable(description: "the key \(keyFile) does not match the certificate \(certificateFile)")
        }
    }
}
