/// The texts of a PostgreSQL array where they lie in a result, so that going through them allocates nothing.
public struct TextList {
    let result: PostgresResult
    let row: Int
    let column: Int

    /// Gives the bytes of each text that is not NULL, in order. They are valid only during the call.
    public func visit(_ body: (UnsafeRawBufferPointer) -> Void) {
        _ = contains { text in
            body(text)
            return false
        }
    }

    /// How many bytes the list takes.
    public var size: Int { result.withBytes(row, column) { $0.count } }

    /// The texts, each once.
    public var set: Set<[UInt8]> {
        var set: Set<[UInt8]> = []
        visit { set.insert(Array($0)) }
        return set
    }

    /// Whether one of the texts is the same, byte for byte.
    public func contains(_ text: UnsafeRawBufferPointer) -> Bool {
        contains { $0.count == text.count && $0.elementsEqual(text) }
    }

    /// Whether there is a text for which `isWanted` is true; the texts after it are not looked at.
    private func contains(where isWanted: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        result.withBytes(row, column) { bytes in
            // No dimension is no element; of more than one, the elements follow each other all the same.
            guard bytes.count >= 12 else { return false }
            let dimensions = Int(BinaryValue(bytes).integer(0, as: Int32.self))
            var position = 12 + 8 * max(0, dimensions)
            while position + 4 <= bytes.count {
                let length = Int(BinaryValue(bytes).integer(position, as: Int32.self))
                position += 4
                guard length >= 0 else { continue }
                guard position + length <= bytes.count else { break }
                if isWanted(UnsafeRawBufferPointer(rebasing: bytes[position..<position + length])) { return true }
                position += length
            }
            return false
        }
    }
}
