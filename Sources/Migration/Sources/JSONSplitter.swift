/// Finds where a JSON object ends, without reading it.
struct JSONSplitter {
    private var depth = 0
    private var isInString = false
    private var isEscaped = false

    /// Goes on over bytes.
    ///
    /// - Returns: The place behind the end of the object, if it is among them.
    mutating func end(in bytes: [UInt8], from start: Int) -> Int? {
        var place = start
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth <= 0 { return place }
            default: break
            }
        }
        return nil
    }
}
