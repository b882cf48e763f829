import NIOSSL
import Outgoing
import Platform
import ServerConfiguration

extension KeyFile {
    struct Client {
        let chain: [NIOSSLCertificateSource]
        let key: NIOSSLPrivateKeySource
        /// The warning about the certificate if it expires within 30 days, or nil otherwise.
        let warning: String?

        private static let warnedDays = 30.0

        init(_ certificates: [NIOSSLCertificate], _ privateKey: NIOSSLPrivateKey, _ option: String) throws {
            chain = certificates.map { .certificate($0) }
            key = .privateKey(privateKey)
            let end = Date(timeIntervalSince1970: Double(certificates.first?.notValidAfter ?? 0))
            guard end > .now else {
                throw ConfigurationError("option \(option): the certificate expired on \(end.ISO8601Format())")
            }
            warning =
                end > .now + Self.warnedDays * 86_400
                ? nil : "option \(option): the certificate expires on \(end.ISO8601Format())"
        }
    }

    /// Returns the certificate and key for TLS, or nil if the identity is a token.
    ///
    /// - Throws: `ConfigurationError` if they can't be used.
    static func client(_ identity: ApplePush.Identity, _ option: String, in folder: String) throws -> Client? {
        switch identity {
        case .token: return nil
        case .archive(let file, let passphrase):
            let bytes = try KeyFile(file, "\(option).pfx", in: folder).bytes
            do {
                let bundle = try NIOSSLPKCS12Bundle(buffer: bytes, passphrase: passphrase.map { Array($0.utf8) })
                return try Client(bundle.certificateChain, bundle.privateKey, option)
            } catch let error as ConfigurationError {
                throw error
            } catch {
                throw ConfigurationError(
                    "option \(option).pfx can't be read: the passphrase is wrong, or the encryption of the "
                        + "file is outdated. Recreate it with openssl pkcs12 -legacy -in old.p12 -nodes | openssl pkcs12 "
                        + "-export -out new.p12")
            }
        case .certificate(let certificate, let key, let passphrase):
            do {
                let chain = try NIOSSLCertificate.fromPEMBytes(
                    KeyFile(certificate, "\(option).cert", in: folder).bytes)
                let keyBytes = try KeyFile(key, "\(option).key", in: folder).bytes
                let privateKey = try NIOSSLPrivateKey(bytes: keyBytes, format: .pem) { setter in
                    setter(Array((passphrase ?? "").utf8))
                }
                return try Client(chain, privateKey, option)
            } catch let error as ConfigurationError {
                throw error
            } catch {
                throw ConfigurationError("option \(option): cert or key is not valid PEM, or the passphrase is wrong")
            }
        }
    }
}
