import JSON
import ParseModel
import Postgres

/// How rows of one class become JSON: which columns are selected, and how each is written.
///
/// Made once for a shape of query; everything that does not change from row to row is text already.
public final class ReadPlan: Sendable {
    /// How one column's value is written. Without payloads, so that going through the columns of a row counts no
    /// references.
    enum Encoding: Sendable {
        case text, number, boolean, json, point, polygon
        /// `createdAt` and `updatedAt`: a plain text.
        case plainDate
        case date
        case pointer
        /// A file's name, to which its URL is added.
        case file
        /// A jsonb object of login providers, of which those without data are left out.
        case authData
    }

    /// One selected column.
    struct Column: Sendable {
        let name: String
        /// `,"name":`
        let key: [UInt8]
        /// The key and whatever stands before the value in every row.
        let opening: [UInt8]
        let encoding: Encoding
        /// The class that a pointer leads to.
        let target: String?

        init(_ name: String, _ encoding: Encoding, target: String? = nil) {
            self.name = name
            self.encoding = encoding
            self.target = target
            key = Array(",".utf8) + JSONValue.string(name).serialized() + Array(":".utf8)
            opening = key + Self.opening(encoding, target)
        }

        /// What stands between the key and the value.
        private static func opening(_ encoding: Encoding, _ target: String?) -> [UInt8] {
            switch encoding {
            case .text, .plainDate: Array("\"".utf8)
            case .date: Array("{\"__type\":\"Date\",\"iso\":\"".utf8)
            case .point: Array("{\"__type\":\"GeoPoint\",\"latitude\":".utf8)
            case .polygon: Array("{\"__type\":\"Polygon\",\"coordinates\":[".utf8)
            case .file: Array("{\"__type\":\"File\",\"name\":".utf8)
            case .pointer:
                Array("{\"__type\":\"Pointer\",\"className\":".utf8) + JSONValue.string(target ?? "").serialized()
                    + Array(",\"objectId\":\"".utf8)
            case .number, .boolean, .json, .authData: []
            }
        }
    }

    /// The class.
    let className: String
    /// The columns in the order of the select list; the two permission lists follow them when the ACL is wanted.
    let columns: [Column]
    /// Whether `_rperm` and `_wperm` are selected.
    let hasACL: Bool
    /// Relation markers and whatever else is the same for every row, each as `,"key":value`.
    let constants: [[UInt8]]
    /// The select list.
    let selectList: String
    /// The statement that reads the object whose id is `$1`, if one of `$2` may read it.
    let readableById: String
    /// The statement that reads the object whose id is `$1`, whoever asks.
    let anyById: String
    /// `{"__type":"Object","className":"X"`, which opens an object inside another.
    let embeddedOpening: [UInt8]

    /// Plans the reading of a class.
    ///
    /// - Parameters:
    ///   - keys: The fields wanted; nil for all. The id, the dates and the ACL always are.
    ///   - excluded: Fields not wanted.
    ///   - hidden: Fields that the caller may not see, whatever was asked for.
    public convenience init(
        _ schema: ClassSchema, keys: Set<String>? = nil, excluded: Set<String> = [], hidden: Set<String> = []
    ) {

        var columns: [Column] = []
        var constants: [[UInt8]] = []
        var selected: [String] = []
        for (name, field) in schema.fields {
            if hidden.contains(name) { continue }
            let isCommon = SystemClass.commonFields[name] != nil
            if !isCommon {
                if let keys, !keys.contains(name), !field.type.isRelation { continue }
                if excluded.contains(name) { continue }
            }
            if case .relation(let target) = field.type {
                let marker: JSONObject = ["__type": "Relation", "className": .string(target)]
                constants.append(
                    Array(",".utf8)
                        + JSONObject(dictionaryLiteral: (name, .object(marker))).serialized().dropFirst().dropLast())
                continue
            }
            guard TableLayout.hasColumn(name, of: schema.name, type: field.type),
                let encoding = Self.encoding(name, field.type, schema.name)
            else { continue }
            columns.append(Column(name, encoding, target: field.type.targetClass))
            selected.append(SQLBuilder.quote(name))
        }
        let hasACL = !TableLayout.classesWithoutACL.contains(schema.name) && !hidden.contains("ACL")
        if hasACL { selected += ["\"_rperm\"", "\"_wperm\""] }
        self.init(
            className: schema.name, columns: columns, constants: constants, hasACL: hasACL,
            selectList: selected.joined(separator: ", "))
    }

    init(className: String, columns: [Column], constants: [[UInt8]], hasACL: Bool, selectList: String) {
        self.className = className
        self.columns = columns
        self.constants = constants
        self.hasACL = hasACL
        self.selectList = selectList
        anyById = "SELECT \(selectList) FROM \(SQLBuilder.quote(className)) WHERE \"objectId\" = $1"
        readableById =
            TableLayout.classesWithoutACL.contains(className)
            ? anyById : anyById + " AND (\"_rperm\" IS NULL OR \"_rperm\" && $2)"
        embeddedOpening =
            Array("{\"__type\":\"Object\",\"className\":".utf8) + JSONValue.string(className).serialized()
    }

    private static func encoding(_ name: String, _ type: FieldType, _ className: String) -> Encoding? {
        switch type {
        case .string: return .text
        case .number: return .number
        case .boolean: return .boolean
        case .date: return name == "createdAt" || name == "updatedAt" ? .plainDate : .date
        case .object where className == "_User" && name == "authData": return .authData
        case .object, .array, .bytes: return .json
        case .file: return .file
        case .geoPoint: return .point
        case .polygon: return .polygon
        case .pointer: return .pointer
        case .acl, .relation: return nil
        }
    }

    /// The position of a column in the select list.
    func index(of column: String) -> Int? { columns.firstIndex { $0.name == column } }
}

/// The URLs of stored files, as they are written into answers.
public struct FileLinks: Sendable {
    /// What stands before the name, up to and with the last slash.
    public var prefix: [UInt8]
    /// The key of files that were stored by hosted Parse (`fileKey`); nil when there are none.
    public var hostedKey: String?

    /// Makes links below a base such as `https://host/parse/files/appId/`.
    public init(base: String, hostedKey: String? = nil) {
        prefix = Array(base.utf8)
        self.hostedKey = hostedKey
    }

    /// Appends the URL of a file.
    func write(_ name: UnsafeRawBufferPointer, into writer: inout JSONWriter) {
        writer.byte(UInt8(ascii: "\""))
        if let hostedKey, let base = Self.hostedBase(name, key: hostedKey) {
            writer.raw(Array(base.utf8))
        } else {
            writer.raw(prefix)
        }
        for byte in name {
            if Self.isPlain(byte) {
                writer.byte(byte)
            } else {
                writer.byte(UInt8(ascii: "%"))
                writer.byte(Self.hexadecimal[Int(byte >> 4)])
                writer.byte(Self.hexadecimal[Int(byte & 15)])
            }
        }
        writer.byte(UInt8(ascii: "\""))
    }

    /// The URL of a file as text.
    public func url(_ name: String) -> String {
        var writer = JSONWriter(capacity: 128)
        var name = name
        name.withUTF8 { write(UnsafeRawBufferPointer($0), into: &writer) }
        return String(writer.text.dropFirst().dropLast())
    }

    private static let hexadecimal = Array("0123456789ABCDEF".utf8)

    /// What JavaScript's `encodeURIComponent` leaves alone, and the slashes of directories.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        // - _ . ! ~ * ' ( ) /
        case 0x2D, 0x5F, 0x2E, 0x21, 0x7E, 0x2A, 0x27, 0x28, 0x29, 0x2F: true
        default: false
        }
    }

    private static func hostedBase(_ name: UnsafeRawBufferPointer, key: String) -> String? {
        let text = String(decoding: name, as: UTF8.self)
        if text.hasPrefix("tfss-") { return "http://files.parsetfss.com/\(key)/" }
        let parts = text.prefix(37)
        let isUUID =
            parts.count == 37 && parts.last == "-"
            && parts.enumerated().allSatisfy { index, character in
                [8, 13, 18, 23, 36].contains(index) ? character == "-" : character.isHexDigit
            }
        return isUUID ? "http://files.parse.com/\(key)/" : nil
    }
}
