import Crypto
import CryptoExtras
import Encoding
import SwiftASN1

/// An X.509 certificate of an RSA key (RFC 5280). Its names and extensions are ignored.
package struct RSACertificate: Sendable {
    let key: _RSA.Signing.PublicKey
    /// The start of the validity period, in seconds since 1970.
    private let start: Double
    private let end: Double
    private let signed: [UInt8]
    private let signature: _RSA.Signing.RSASignature
    /// The algorithm of the signature, or nil if its parameters aren't those of RSA with PKCS #1 v1.5.
    private let algorithm: ASN1ObjectIdentifier?

    private struct Malformed: Error {}

    /// Parses a certificate in PEM or DER format.
    package init(_ file: [UInt8]) throws {
        var bytes = file
        if let text = String(validating: file, as: UTF8.self), text.contains("-----BEGIN") {
            let document = try PEMDocument(pemString: text)
            guard document.discriminator == "CERTIFICATE" else { throw Malformed() }
            bytes = document.derBytes
        }
        let (body, method, bits) = try DER.sequence(DER.parse(bytes), identifier: .sequence) { nodes in
            (try Self.sequence(&nodes), try Self.sequence(&nodes), try ASN1BitString(derEncoded: &nodes))
        }
        guard bits.paddingBits == 0 else { throw Malformed() }
        signed = Array(body.encodedBytes)
        signature = _RSA.Signing.RSASignature(rawRepresentation: bits.bytes)
        algorithm = try? DER.sequence(method, identifier: .sequence) { nodes in
            let algorithm = try ASN1ObjectIdentifier(derEncoded: &nodes)
            let _: ASN1Null? = try DER.optionalImplicitlyTagged(&nodes)
            return algorithm
        }
        (start, end, key) = try DER.sequence(body, identifier: .sequence) { nodes in
            let version = try DER.decodeDefaultExplicitlyTagged(
                &nodes, tagNumber: 0, tagClass: .contextSpecific, defaultValue: 0)
            _ = try ArraySlice<UInt8>(derEncoded: &nodes)
            // The signature doesn't cover the outer copy of the algorithm.
            let signedMethod = try Self.sequence(&nodes)
            guard (0...2).contains(version), signedMethod.encodedBytes == method.encodedBytes else { throw Malformed() }
            _ = try Self.sequence(&nodes)
            let (start, end) = try DER.sequence(Self.sequence(&nodes), identifier: .sequence) { nodes in
                (try Self.time(nodes.next()), try Self.time(nodes.next()))
            }
            _ = try Self.sequence(&nodes)
            let form = try Self.sequence(&nodes).encodedBytes
            let key = try _RSA.Signing.PublicKey(derRepresentation: form)
            // The parser also accepts key formats that certificates don't use.
            guard form.elementsEqual(key.derRepresentation) else { throw Malformed() }
            for tag: UInt in 1...3 {
                _ = DER.optionalImplicitlyTagged(&nodes, tagNumber: tag, tagClass: .contextSpecific) { _ in }
            }
            return (start, end, key)
        }
    }

    private static func sequence(_ nodes: inout ASN1NodeCollection.Iterator) throws -> ASN1Node {
        guard let node = nodes.next(), node.identifier == .sequence else { throw Malformed() }
        return node
    }

    private static func time(_ node: ASN1Node?) throws -> Double {
        guard let node else { throw Malformed() }
        let date: CivilDate
        let time: (hours: Int, minutes: Int, seconds: Int)
        if node.identifier == .utcTime {
            let value = try UTCTime(derEncoded: node)
            date = CivilDate(year: value.year, month: value.month, day: value.day)
            time = (value.hours, value.minutes, value.seconds)
        } else {
            let value = try GeneralizedTime(derEncoded: node)
            date = CivilDate(year: value.year, month: value.month, day: value.day)
            time = (value.hours, value.minutes, value.seconds)
        }
        return Double(((date.daysSince1970 * 24 + time.hours) * 60 + time.minutes) * 60 + time.seconds)
    }

    /// Returns whether the certificate is valid at a time, in seconds since 1970.
    package func isValid(at time: Double) -> Bool { start <= time && time <= end }

    /// Returns whether the key of another certificate signed this one, with RSA (PKCS #1 v1.5) and SHA-2.
    package func isSigned(by issuer: RSACertificate) -> Bool {
        func isSigned(_ digest: some Digest) -> Bool {
            issuer.key.isValidSignature(signature, for: digest, padding: .insecurePKCS1v1_5)
        }
        return switch algorithm {
        case ASN1ObjectIdentifier.AlgorithmIdentifier.sha256WithRSAEncryption: isSigned(SHA256.hash(data: signed))
        case ASN1ObjectIdentifier.AlgorithmIdentifier.sha384WithRSAEncryption: isSigned(SHA384.hash(data: signed))
        case ASN1ObjectIdentifier.AlgorithmIdentifier.sha512WithRSAEncryption: isSigned(SHA512.hash(data: signed))
        default: false
        }
    }
}
