import HTTP

/// Finds out whether a large body can name the application, before it is read as JSON.
///
/// SDKs that send their credentials in the body write `"_ApplicationId":"…"`, as a rule at its end. To look for that takes
/// a hundredth of the time that reading takes.
struct ApplicationScan: Sendable {
    private let applicationID: [UInt8]
    /// Whether every client writes the id in the same way, without escapes.
    private let isPlain: Bool

    private static let key = Array("_ApplicationId".utf8)
    /// What may stand between the key and the id, in JSON and in a form.
    private static let betweenMarks = Array("\":= \t\r\n".utf8)
    /// How far the id may be from the key.
    private static let mostBetween = 64

    init(applicationID: String) {
        self.applicationID = Array(applicationID.utf8)
        isPlain = applicationID.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
    }

    /// Whether the id stands behind the key somewhere in the bytes. It takes time in proportion to their number.
    func mayName(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while let mark = rest.firstIndex(of: UInt8(ascii: "_")) {
            rest = bytes[mark...]
            if rest.starts(with: Self.key) {
                let value = rest.dropFirst(Self.key.count)
                if !isPlain { return true }
                let between = value.prefix(Self.mostBetween).prefix { Self.betweenMarks.contains($0) }
                if value.dropFirst(between.count).starts(with: applicationID) { return true }
            }
            rest = rest.dropFirst()
        }
        return false
    }
}
