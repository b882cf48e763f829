import Crypto
import CryptoExtras
import Foundation
import SignIn
import TestSupport
import Testing

/// RSA certificates, which Game Center uses.
@Suite struct RSACertificateTests {
    private let issuer: _RSA.Signing.PrivateKey
    private let authority: RSACertificate
    private let key: _RSA.Signing.PrivateKey

    init() throws {
        issuer = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let form = CertificateForm(authority: "A", key: issuer.publicKey.derRepresentation, .rsaSHA256)
        let issuer = issuer
        authority = try RSACertificate(
            form.signed { try issuer.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation })
    }

    private func form(_ algorithm: CertificateForm.Algorithm = .rsaSHA256, key: Data? = nil) -> CertificateForm {
        CertificateForm("B", issuer: "A", key: key ?? self.key.publicKey.derRepresentation, algorithm)
    }

    private func sign(_ digest: some Digest, _ padding: _RSA.Signing.Padding = .insecurePKCS1v1_5) throws -> Data {
        try issuer.signature(for: digest, padding: padding).rawRepresentation
    }

    private func isTrusted(_ bytes: [UInt8]) -> Bool {
        (try? RSACertificate(bytes))?.isSigned(by: authority) ?? false
    }

    @Test("Verifies RSA signatures with SHA-256, SHA-384 and SHA-512, in DER and PEM")
    func signatures() throws {
        let certificates = [
            try form(.rsaSHA256).signed { try sign(SHA256.hash(data: $0)) },
            try form(.rsaSHA384).signed { try sign(SHA384.hash(data: $0)) },
            try form(.rsaSHA512).signed { try sign(SHA512.hash(data: $0)) },
        ]
        for bytes in certificates {
            #expect(isTrusted(bytes))
            let pem = CertificateForm.pem(bytes)
            #expect(isTrusted(Array(pem.utf8)))
            #expect(isTrusted(Array("A note\n\(pem)\n".utf8)))
            #expect(isTrusted(Array(pem.replacing("\n", with: "\r\n").utf8)))
            #expect(!isTrusted(Array("\(pem)\n\(pem)\n".utf8)))
            #expect(!isTrusted(Array(pem.replacing("CERTIFICATE", with: "PUBLIC KEY").utf8)))
            #expect(!isTrusted(Array(pem.dropLast(40).utf8)))
        }
        let own = try RSACertificate(certificates[0])
        #expect(!own.isSigned(by: own) && !authority.isSigned(by: own))
    }

    @Test("Rejects a certificate with any byte changed, missing or added")
    func changes() throws {
        let bytes = try form().signed { try sign(SHA256.hash(data: $0)) }
        for index in bytes.indices {
            for change: UInt8 in [0x01, 0x20, 0x80] {
                var other = bytes
                other[index] ^= change
                #expect(!isTrusted(other), "byte \(index), \(change)")
            }
            #expect(!isTrusted(Array(bytes[..<index])), "\(index) bytes")
        }
        #expect(!isTrusted(bytes + [0]) && !isTrusted([0] + bytes) && !isTrusted(bytes + bytes))
        // Lengths that are not minimal or indefinite, which DER doesn't allow.
        #expect(bytes[..<2] == [0x30, 0x82])
        #expect(!isTrusted([0x30, 0x83, 0] + bytes[2...]))
        #expect(!isTrusted([0x30, 0x80] + bytes[4...] + [0, 0]))
    }

    @Test("Rejects other algorithms, keys and signature formats, and algorithm fields that differ")
    func algorithms() throws {
        let curve = P256.Signing.PrivateKey()
        let short = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1024)).publicKey
        let refused: [(String, [UInt8])] = [
            ("SHA-1", try form(.rsaSHA1).signed { try sign(Insecure.SHA1.hash(data: $0)) }),
            ("ECDSA", try form(.ecdsaSHA256).signed { try curve.signature(for: $0).derRepresentation }),
            ("RSA labeled as ECDSA", try form(.ecdsaSHA256).signed { try sign(SHA256.hash(data: $0)) }),
            ("PSS", try form().signed { try sign(SHA256.hash(data: $0), .PSS) }),
            ("another hash", try form().signed { try sign(SHA512.hash(data: $0)) }),
            ("outer SHA-256", try form(.rsaSHA384).signed(outer: .rsaSHA256) { try sign(SHA256.hash(data: $0)) }),
            ("outer SHA-384", try form(.rsaSHA256).signed(outer: .rsaSHA384) { try sign(SHA256.hash(data: $0)) }),
            (
                "another signer",
                try form().signed { try key.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation }
            ),
            ("a short signature", try form().signed { try sign(SHA256.hash(data: $0)).dropLast() }),
            ("a long signature", try form().signed { try sign(SHA256.hash(data: $0)) + [0] }),
            ("a leading zero", try form().signed { try Data([0]) + sign(SHA256.hash(data: $0)) }),
            ("no signature", form().signed { _ in Data() }),
            ("zeros", form().signed { _ in Data(count: 256) }),
            (
                "a curve's key",
                try form(key: curve.publicKey.derRepresentation).signed { try sign(SHA256.hash(data: $0)) }
            ),
            ("a short key", try form(key: short.derRepresentation).signed { try sign(SHA256.hash(data: $0)) }),
            (
                "a key without its algorithm",
                try form(key: key.publicKey.pkcs1DERRepresentation).signed { try sign(SHA256.hash(data: $0)) }
            ),
            ("no key", try form(key: Data([0x30, 0])).signed { try sign(SHA256.hash(data: $0)) }),
        ]
        for (name, bytes) in refused { #expect(!isTrusted(bytes), "\(name)") }
    }

    @Test("Reads validity dates with two-digit or four-digit years, to the second", arguments: [false, true])
    func dates(hasLongYears: Bool) throws {
        for (start, end) in [(951_782_399.0, 1_709_251_200.0), (0, 2_524_607_999), (1_700_000_000, 1_700_000_000)] {
            var form = form()
            form.start = Date(timeIntervalSince1970: start)
            form.end = Date(timeIntervalSince1970: end)
            form.hasLongYears = hasLongYears
            let certificate = try RSACertificate(form.signed { try sign(SHA256.hash(data: $0)) })
            #expect(certificate.isSigned(by: authority))
            #expect(certificate.isValid(at: start) && certificate.isValid(at: end))
            #expect(!certificate.isValid(at: start - 1) && !certificate.isValid(at: end + 1))
        }
        var reversed = form()
        (reversed.start, reversed.end) = (reversed.end, reversed.start)
        let never = try RSACertificate(reversed.signed { try sign(SHA256.hash(data: $0)) })
        #expect(!never.isValid(at: Date().timeIntervalSince1970))
    }
}
