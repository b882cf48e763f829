import Encoding

/// What a client says of its SDK: `js1.10.0`, `i1.19.2`, `php1.6.0`.
enum ClientVersion {
    /// Whether a client takes `{"__op":"Delete"}` in an answer for a field that is gone: those that name no SDK, and
    /// JavaScript's from 1.9 on. Others would keep the operation as the value of the field.
    static func takesDeletions(_ text: String?) -> Bool {
        guard let text = text?.asciiLowercased else { return true }
        let isOfName = { (character: Character) in character.isASCII && character.isLetter || character == "-" }
        let sdk = text.drop { !isOfName($0) }.prefix(while: isOfName)
        let version = text[sdk.endIndex...].prefix { ("0"..."9").contains($0) || $0 == "." }
        if sdk.isEmpty || version.isEmpty { return true }
        let numbers = version.split(separator: ".", omittingEmptySubsequences: false).compactMap { Int($0) }
        return sdk == "js" && numbers.count == 3 && (numbers[0], numbers[1]) >= (1, 9)
    }
}
