/// A content type: `type/subtype`, with its parameters set aside.
public struct MediaType: Sendable, Equatable {
    /// `type/subtype`, in lower case.
    public let essence: String

    /// The part after the slash.
    public var subtype: Substring {
        essence.split(separator: "/", maxSplits: 1).last ?? ""
    }

    /// The part before the slash.
    public var type: Substring {
        essence.split(separator: "/", maxSplits: 1).first ?? ""
    }

    /// Reads a content type; nil if it does not have the form that HTTP demands.
    public init?(_ text: some StringProtocol) {
        let essence = text.prefix { $0 != ";" }.trimmingSpaces().asciiLowercased
        let parts = essence.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Self.isTokenByte) }) else {
            return nil
        }
        self.essence = essence
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
    /// A type that is written in the source in lower case, and therefore valid.
    package init(known essence: StaticString) {
        self.essence = "\(essence)"
    }
}
