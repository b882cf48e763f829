import NIOSSL
import Synchronization

/// The certificate and the key by which the server speaks TLS. They can be read anew: connections that come afterwards get
/// the new ones, those that are open go on as they are.
public final class ServerCertificate: Sendable {
    /// Files that the server cannot use.
    public struct Unusable: Error, CustomStringConvertible {
        /// What to tell the operator.
        public let description: String
    }

    private let certificateFile: String
    private let keyFile: String
    private let current: Mutex<NIOSSLContext>

    /// Reads the files.
    ///
    /// - Parameters:
    ///   - certificateFile: The PEM file of the certificate and of those that lead to its authority.
    ///   - keyFile: The PEM file of its key.
    /// - Throws: ``Unusable``.
    public init(certificateFile: String, keyFile: String) throws(Unusable) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        current = Mutex(try Self.context(certificateFile, keyFile))
    }

    /// Reads the files again. What cannot be used leaves the old ones in force.
    ///
    /// - Throws: ``Unusable``.
    public func reload() throws(Unusable) {
        let context = try Self.context(certificateFile, keyFile)
        current.withLock { $0 = context }
    }

    /// What a new connection speaks TLS by.
    var context: NIOSSLContext { current.withLock { $0 } }

    /// How long the client may take to confirm that a connection ends.
    private static let shutdownTime: Int64 = 2

    private static func context(_ certificateFile: String, _ keyFile: String) throws(Unusable) -> NIOSSLContext {
        let chain: [NIOSSLCertificate]
        do {
            chain = try NIOSSLCertificate.fromPEMFile(certificateFile)
        } catch {
            throw Unusable(description: "the certificate \(certificateFile) cannot be read: \(error)")
        }
        guard !chain.isEmpty else {
            throw Unusable(description: "the certificate \(certificateFile) cannot be read: it holds none in PEM")
        }
        let key: NIOSSLPrivateKey
        do {
            // Nobody is there to type a passphrase, which BoringSSL would ask the terminal for.
            key = try NIOSSLPrivateKey(file: keyFile, format: .pem) { $0([UInt8]()) }
        } catch {
            throw Unusable(description: "the key \(keyFile) cannot be read: \(error)")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        configuration.shutdownTimeout = .seconds(shutdownTime)
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw Unusable(
                description: "the key \(keyFile) does not fit the certificate \(certificateFile): \(error)")
        }
    }
}
