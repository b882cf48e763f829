import BSON

/// Hand-made BSON documents.
enum BSONBytes {
    static func document(_ members: [UInt8]) -> [UInt8] { int32(members.count + 5) + members + [0] }

    static func member(_ type: UInt8, _ key: String, _ value: [UInt8]) -> [UInt8] { [type] + key.utf8 + [0] + value }

    static func text(_ text: String) -> [UInt8] { int32(text.utf8.count + 1) + text.utf8 + [0] }

    static func int32(_ value: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: UInt32(truncatingIfNeeded: value) >> UInt32(8 * $0)) }
    }

    static func word(_ value: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) } }

    static func nested(_ depth: Int) -> [UInt8] {
        var bytes = document([])
        for _ in 1..<depth { bytes = document(member(0x03, "d", bytes)) }
        return bytes
    }

    static var everything: [UInt8] {
        let id = [UInt8](1...12)
        var members = member(0x01, "double", word((1.5).bitPattern))
        members += member(0x02, "text", text("a\u{1F984}"))
        members += member(0x03, "document", document(member(0x10, "x", int32(-1))))
        members += member(0x04, "array", document(member(0x08, "0", [1]) + member(0x0A, "1", [])))
        members += member(0x05, "binary", int32(3) + [0, 1, 2, 3])
        members += member(0x05, "old", int32(7) + [2] + int32(3) + [1, 2, 3])
        members += member(0x06, "undefined", []) + member(0x07, "id", id)
        members += member(0x08, "bool", [0]) + member(0x09, "date", word(UInt64(bitPattern: -1)))
        members += member(0x0A, "null", []) + member(0x0B, "regex", Array("a.b".utf8) + [0] + Array("i".utf8) + [0])
        members += member(0x0C, "pointer", text("c") + id) + member(0x0D, "code", text("f()"))
        members += member(0x0E, "symbol", text("s"))
        let scoped = text("g()") + document([])
        members += member(0x0F, "scoped", int32(scoped.count + 4) + scoped)
        members += member(0x10, "int", int32(7)) + member(0x11, "time", word(1 << 32 | 2))
        members += member(0x12, "long", word(1 << 60)) + member(0x13, "decimal", word(5) + word(0x303E << 48))
        members += member(0xFF, "min", []) + member(0x7F, "max", [])
        return document(members)
    }
}
