/// The words of a statement: as much of SQL as Roost and parse-server write.
enum StatementToken: Equatable {
    /// A name in double quotes.
    case name(String)
    /// A keyword or function, in capitals.
    case word(String)
    /// An operator.
    case sign(String)
    /// A value, or what stands for one.
    case value
    case open
    case close
    case comma
    case dot

    /// How much of a statement is looked at.
    private static let longestStatement = 256 * 1024

    /// The words of a statement; what is too long for one is cut off.
    static func list(_ sql: String) -> [StatementToken] {
        var tokens: [StatementToken] = []
        var rest = Array(sql.utf8.prefix(longestStatement))[...]
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "\""): tokens.append(.name(quoted(by: byte, &rest)))
            case UInt8(ascii: "'"):
                _ = quoted(by: byte, &rest)
                tokens.append(.value)
            case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: ","), UInt8(ascii: "."):
                rest.removeFirst()
                tokens.append(
                    byte == UInt8(ascii: "(")
                        ? .open
                        : byte == UInt8(ascii: ")")
                            ? .close
                            : byte == UInt8(ascii: ",") ? .comma : .dot)
            case UInt8(ascii: "$"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                rest.removeFirst()
                rest = rest.drop { isDigit($0) }
                tokens.append(.value)
            case _ where isLetter(byte):
                let word = rest.prefix { isLetter($0) || isDigit($0) }
                rest = rest.dropFirst(word.count)
                tokens.append(.word(String(decoding: word, as: UTF8.self).uppercased()))
            case _ where operators.contains(byte):
                let sign = rest.prefix { operators.contains($0) }
                rest = rest.dropFirst(sign.count)
                tokens.append(.sign(String(decoding: sign, as: UTF8.self)))
            default: rest.removeFirst()
            }
        }
        return tokens
    }

    private static let operators = Set("<>=~!@#%^&|*+-/?:".utf8)

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isLetter(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || byte >= 0x80
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    /// What stands in quotes, in which quotes are doubled.
    private static func quoted(by quote: UInt8, _ rest: inout ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        rest.removeFirst()
        while let byte = rest.popFirst() {
            if byte == quote {
                guard rest.first == quote else { break }
                rest.removeFirst()
            }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
