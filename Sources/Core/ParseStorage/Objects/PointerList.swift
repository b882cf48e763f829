import Encoding
import ParseModel

/// Reads an array of pointers from PostgreSQL's jsonb text without parsing it into JSON values.
///
/// jsonb sorts the keys of an object by length and then by bytes, and writes one space after each comma and colon. So
/// a pointer with exactly its three members has a single spelling.
package enum PointerList {
    private static let opening = Array(#"{"__type": "Pointer", "objectId": ""#.utf8)
    private static let middle = Array(#"", "className": ""#.utf8)
    private static let closing = Array(#""}"#.utf8)
    private static let separator = Array(", ".utf8)

    /// Returns the pointers of an array, or nil for anything but an array of three-member pointers without escapes.
    ///
    /// - Parameter json: The text of a jsonb value.
    package static func read(_ json: UnsafeRawBufferPointer) -> [Pointer]? {
        guard json.count >= 2, json.first == UInt8(ascii: "["), json.last == UInt8(ascii: "]") else { return nil }
        let list = UnsafeRawBufferPointer(rebasing: json[1..<json.count - 1])
        var place = 0
        var pointers: [Pointer] = []
        while place < list.count {
            guard pointers.isEmpty || skip(separator, list, &place), skip(opening, list, &place),
                let id = text(list, &place), skip(middle, list, &place), let className = text(list, &place),
                skip(closing, list, &place)
            else { return nil }
            pointers.append(Pointer(className: className, objectId: id))
        }
        return pointers
    }

    private static func skip(_ expected: [UInt8], _ list: UnsafeRawBufferPointer, _ place: inout Int) -> Bool {
        guard ByteEquality.isFound(expected, in: list, at: place) else { return false }
        place += expected.count
        return true
    }

    private static func text(_ list: UnsafeRawBufferPointer, _ place: inout Int) -> String? {
        let start = place
        while place < list.count, list[place] != UInt8(ascii: "\""), list[place] != UInt8(ascii: "\\") { place += 1 }
        guard place < list.count, list[place] == UInt8(ascii: "\"") else { return nil }
        return String(decoding: list[start..<place], as: UTF8.self)
    }
}
