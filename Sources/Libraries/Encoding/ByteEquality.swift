import Platform

/// Compares strings byte by byte, while Swift's `==` uses canonical equivalence.
public enum ByteEquality {
    public static func areSame(_ left: String, _ right: String) -> Bool {
        let count = left.utf8.count
        guard count == right.utf8.count else { return false }
        // Uses pointers, because every member of every request is looked up with this.
        let same = left.utf8.withContiguousStorageIfAvailable { left in
            right.utf8.withContiguousStorageIfAvailable { right in
                guard let first = left.baseAddress, let second = right.baseAddress else { return true }
                return first == second || memcmp(first, second, count) == 0
            }
        }
        return (same ?? nil) ?? left.utf8.elementsEqual(right.utf8)
    }

    /// Returns whether the bytes at an offset begin with a text.
    ///
    /// - Parameter place: The offset, at most the length of `bytes`.
    public static func isFound(_ text: [UInt8], in bytes: UnsafeRawBufferPointer, at place: Int) -> Bool {
        guard text.count <= bytes.count - place, let start = bytes.baseAddress else { return false }
        return text.withUnsafeBytes { $0.baseAddress.map { memcmp($0, start + place, text.count) == 0 } ?? true }
    }
}

/// Compares secrets in constant time, which doesn't reveal where they differ.
public enum ConstantTime {
    /// Returns whether a client's value equals the secret byte by byte. An empty secret matches nothing.
    public static func areEqual(_ given: String, _ secret: String) -> Bool {
        guard !secret.isEmpty else { return false }
        var difference = given.utf8.count ^ secret.utf8.count
        var rest = given.utf8.makeIterator()
        for byte in secret.utf8 { difference |= Int(byte ^ (rest.next() ?? 0)) }
        return difference == 0
    }
}
