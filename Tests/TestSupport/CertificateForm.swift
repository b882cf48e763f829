import Foundation

/// An unsigned X.509 certificate (RFC 5280), encoded as DER.
public struct CertificateForm: Sendable {
    public struct Algorithm: Sendable {
        let bytes: [UInt8]

        public static let ecdsaSHA256 = Algorithm(
            bytes: CertificateForm.sequence([6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 2]))
        public static let rsaSHA1 = rsa(5)
        public static let rsaSHA256 = rsa(11)
        public static let rsaSHA384 = rsa(12)
        public static let rsaSHA512 = rsa(13)

        private static func rsa(_ number: UInt8) -> Algorithm {
            Algorithm(bytes: CertificateForm.sequence([6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, number, 5, 0]))
        }
    }

    private let issuer: String
    private let subject: String
    private let key: Data
    private let algorithm: Algorithm
    private let extensions: [[UInt8]]
    public var start = Date() - 3600
    public var end: Date
    /// Whether years have four digits (GeneralizedTime), as required from 2050 on.
    public var hasLongYears = false

    /// Creates a certificate authority's certificate.
    ///
    /// - Parameter key: The SubjectPublicKeyInfo in DER.
    public init(authority name: String, key: Data, _ algorithm: Algorithm) {
        self.init(
            issuer: name, subject: name, key, algorithm, end: 86_400,
            [
                Self.extended(19, isCritical: true, Self.sequence([1, 1, 0xFF])),
                Self.extended(15, isCritical: true, [3, 2, 2, 4]),
            ])
    }

    /// Creates a certificate of a host or a person.
    ///
    /// - Parameter end: The seconds until it expires.
    public init(_ subject: String, issuer: String, key: Data, _ algorithm: Algorithm, end: Double = 86_400) {
        let name = Self.node(0x82, Array(subject.utf8))
        let usage: [UInt8] = [6, 8, 0x2B, 6, 1, 5, 5, 7, 3]
        self.init(
            issuer: issuer, subject: subject, key, algorithm, end: end,
            [
                Self.extended(19, isCritical: true, Self.sequence([])), Self.extended(17, Self.sequence(name)),
                Self.extended(37, Self.sequence(usage + [1] + usage + [2])),
            ])
    }

    private init(
        issuer: String, subject: String, _ key: Data, _ algorithm: Algorithm, end: Double, _ extensions: [[UInt8]]
    ) {
        self.issuer = issuer
        self.subject = subject
        self.key = key
        self.algorithm = algorithm
        self.extensions = extensions
        self.end = Date() + end
    }

    /// Returns the signed certificate in DER.
    ///
    /// - Parameter outer: The algorithm next to the signature if it differs from the signed one, which makes the
    ///   certificate invalid.
    public func signed(outer: Algorithm? = nil, by sign: ([UInt8]) throws -> Data) rethrows -> [UInt8] {
        let serial = withUnsafeBytes(of: UInt64.random(in: 1 << 62..<1 << 63).bigEndian) { Array($0) }
        let body = Self.sequence(
            Self.node(0xA0, [2, 1, 2]) + Self.node(2, serial) + algorithm.bytes + Self.name(issuer)
                + Self.sequence(time(start) + time(end)) + Self.name(subject) + Array(key)
                + Self.node(0xA3, Self.sequence(extensions.flatMap { $0 })))
        return Self.sequence(body + (outer ?? algorithm).bytes + Self.node(3, [0] + Array(try sign(body))))
    }

    public static func pem(_ certificate: [UInt8]) -> String {
        let text = Data(certificate).base64EncodedString()
        let lines = stride(from: 0, to: text.count, by: 64).map { String(text.dropFirst($0).prefix(64)) }
        return (["-----BEGIN CERTIFICATE-----"] + lines + ["-----END CERTIFICATE-----"]).joined(separator: "\n")
    }

    private static func node(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        let count = contents.count
        let length: [UInt8] =
            switch count {
            case ..<0x80: [UInt8(count)]
            case ..<0x100: [0x81, UInt8(count)]
            default: [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
            }
        return [tag] + length + contents
    }

    private static func sequence(_ contents: [UInt8]) -> [UInt8] { node(0x30, contents) }

    private static func name(_ text: String) -> [UInt8] {
        sequence(node(0x31, sequence([6, 3, 0x55, 4, 3] + node(0x0C, Array(text.utf8)))))
    }

    private static func extended(_ number: UInt8, isCritical: Bool = false, _ value: [UInt8]) -> [UInt8] {
        sequence([6, 3, 0x55, 0x1D, number] + (isCritical ? [1, 1, 0xFF] : []) + node(4, value))
    }

    private func time(_ date: Date) -> [UInt8] {
        let text = date.ISO8601Format().utf8.filter { UInt8(ascii: "0") <= $0 && $0 <= UInt8(ascii: "9") } + [0x5A]
        return hasLongYears ? Self.node(0x18, text) : Self.node(0x17, Array(text.dropFirst(2)))
    }
}
