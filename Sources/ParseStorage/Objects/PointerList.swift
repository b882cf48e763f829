import ParseModel

/// Arrays of pointers as PostgreSQL prints jsonb, read without making values of them.
///
/// jsonb orders the keys of an object by their length and then by their bytes, and separates with one space, so that a
/// pointer of nothing but its three members has a single spelling.
enum PointerList {
    private static let opening = Array(#"{"__type": "Pointer", "objectId": ""#.utf8)
    private static let middle = Array(#"", "className": ""#.utf8)
    private static let closing = Array(#""}"#.utf8)
    private static let separator = Array(", ".utf8)

    /// The pointers of an array that holds nothing else.
    ///
    /// - Parameter json: The text of a value of type jsonb.
    /// - Returns: nil for any other value, and for names that are written with escapes.
    static func read(_ json: UnsafeRawBufferPointer) -> [Pointer]? {
        var rest = json[...]
        guard rest.popFirst() == UInt8(ascii: "["), rest.popLast() == UInt8(ascii: "]") else { return nil }
        var pointers: [Pointer] = []
        while !rest.isEmpty {
            guard pointers.isEmpty || skip(separator, &rest), skip(opening, &rest), let id = text(&rest),
                skip(middle, &rest), let className = text(&rest), skip(closing, &rest)
            else { return nil }
            pointers.append(Pointer(className: className, objectId: id))
        }
        return pointers
    }

    private static func skip(_ expected: [UInt8], _ rest: inout Slice<UnsafeRawBufferPointer>) -> Bool {
        guard rest.starts(with: expected) else { return false }
        rest.removeFirst(expected.count)
        return true
    }

    /// What stands before the next quotation mark.
    private static func text(_ rest: inout Slice<UnsafeRawBufferPointer>) -> String? {
        let text = rest.prefix { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        rest = rest[text.endIndex...]
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        return String(decoding: text, as: UTF8.self)
    }
}
