/// The position of a request in a trace (W3C Trace Context).
package struct TraceContext: Sendable, Equatable {
    /// A 128-bit trace id.
    package struct TraceID: Sendable, Hashable {
        let high, low: UInt64

        static func random() -> TraceID {
            TraceID(high: .random(in: .min ... .max), low: .random(in: 1 ... .max))
        }

        /// The id as 32 hexadecimal digits.
        var text: String { TraceContext.digits(high) + TraceContext.digits(low) }
    }

    package let traceID: TraceID
    package let spanID: UInt64
    /// The sampling flag: whether servers should record the trace.
    package let isSampled: Bool
    /// The value of `tracestate` to propagate, or nil for none.
    package let state: String?
}

extension TraceContext {
    /// Parses `traceparent` and `tracestate`. Returns nil if `traceparent` is invalid. An invalid `tracestate` is
    /// dropped.
    package init?(traceparent: String, tracestate: String?) {
        let bytes = Array(traceparent.utf8)
        let hyphen = UInt8(ascii: "-")
        guard bytes.count >= 55, bytes[2] == hyphen, bytes[35] == hyphen, bytes[52] == hyphen,
            let version = Self.number(bytes[0..<2]), version != 0xFF,
            version == 0 ? bytes.count == 55 : bytes.count == 55 || bytes[55] == hyphen,
            let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]), high != 0 || low != 0,
            let span = Self.number(bytes[36..<52]), span != 0, let flags = Self.number(bytes[53..<55])
        else { return nil }
        self.init(
            traceID: TraceID(high: high, low: low), spanID: span, isSampled: flags & 1 == 1,
            state: tracestate.flatMap(Self.handedOn))
    }

    package var traceparent: String {
        "00-\(traceID.text)-\(Self.digits(spanID))-\(isSampled ? "01" : "00")"
    }

    /// Returns the `tracestate` to propagate, or nil if it exceeds 32 members or 512 bytes or isn't printable ASCII.
    private static func handedOn(_ state: String) -> String? {
        guard !state.isEmpty, state.utf8.count <= 512, state.split(separator: ",").count <= 32,
            state.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { return nil }
        return state
    }

    /// Parses lower-case hexadecimal digits. Returns nil for other characters.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }

    static func digits(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
