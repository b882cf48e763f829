/// Comparison of secrets in a time that does not tell where they differ.
public enum ConstantTime {
    /// Whether a text that a client sent is the secret, byte by byte. An empty secret is nobody's.
    public static func areEqual(_ given: String, _ secret: String) -> Bool {
        guard !secret.isEmpty else { return false }
        var difference = given.utf8.count ^ secret.utf8.count
        var rest = given.utf8.makeIterator()
        for byte in secret.utf8 { difference |= Int(byte ^ (rest.next() ?? 0)) }
        return difference == 0
    }
}
