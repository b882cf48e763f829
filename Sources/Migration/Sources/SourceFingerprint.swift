import Encoding

/// A short text that stands for a long one.
package enum SourceFingerprint {
    /// The same for the same text, in every process.
    package static func of(_ text: String) -> String {
        let digits = String(StableHash.of(text), radix: 16) + String(StableHash.of("again:" + text), radix: 16)
        return digits
    }
}
