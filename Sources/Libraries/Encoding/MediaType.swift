/// A MIME type without parameters.
public struct MediaType: Sendable, Equatable {
    /// `type/subtype` in lower case.
    public let essence: String

    /// The part after the slash.
    public var subtype: Substring {
        essence.split(separator: "/", maxSplits: 1).last ?? ""
    }

    /// Parses a MIME type and ignores its parameters. Returns nil if it doesn't follow HTTP's syntax.
    public init?(_ text: some StringProtocol) {
        // Works on bytes, because this runs for each request with a body.
        var essence: [UInt8] = []
        var (slashes, isOver) = (0, false)
        for byte in text.utf8.prefix(while: { $0 != UInt8(ascii: ";") }) {
            if byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") {
                isOver = !essence.isEmpty
                continue
            }
            let isUpper = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            let lower = isUpper ? byte | 0x20 : byte
            if lower == UInt8(ascii: "/") {
                guard !essence.isEmpty else { return nil }
                slashes += 1
            } else if !Self.isTokenByte(lower) {
                return nil
            }
            guard !isOver else { return nil }
            essence.append(lower)
        }
        guard slashes == 1, essence.last != UInt8(ascii: "/") else { return nil }
        self.essence = String(decoding: essence, as: UTF8.self)
    }

    package static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: tokenMarks.contains(byte)
        }
    }

    private static let tokenMarks = Array("!#$%&'*+-.^_`|~".utf8)
}

extension MediaType {
    /// Creates a type from a literal, which must be valid and in lower case.
    package init(known essence: StaticString) {
        self.essence = "\(essence)"
    }
}
