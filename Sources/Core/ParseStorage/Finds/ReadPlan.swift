import JSON
import ParseModel
import Postgres

/// How rows of one class become JSON: which columns are selected, and how each is written.
///
/// Made once for a shape of query; everything that does not change from row to row is text already.
public final class ReadPlan: Sendable {
    /// How one column's value is written.
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
        /// A number for an export: one that JSON does not have as `{"$numberDouble":"NaN"}`.
        case exactNumber
    }

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
            case .number, .exactNumber, .boolean, .json, .authData: []
            }
        }
    }

    /// What is needed of a column for each row. It holds no reference, so that going through the columns counts none.
    struct Cell: Sendable {
        let encoding: Encoding
        /// The range of the column in all openings.
        fileprivate let opening: Range<Int>
    }

    let className: String
    /// The columns in the order of the select list; the two permission lists follow them when the ACL is wanted.
    let columns: [Column]
    private let cells: [Cell]
    private let openings: [UInt8]
    /// Whether `_rperm` and `_wperm` are selected.
    let hasACL: Bool
    /// Relation markers and whatever else is the same for every row, each as `,"key":value`.
    let constants: [[UInt8]]
    let selectList: String
    /// The statement that reads the object whose id is `$1`, if one of `$2` may read it.
    let readableById: String
    /// The statement that reads the object whose id is `$1`, for any caller.
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
        _ schema: ClassSchema, keys: Set<Name>? = nil, excluded: Set<Name> = [], hidden: Set<Name> = []
    ) {
        self.init(schema, keys: keys, excluded: excluded, hidden: hidden, shortening: nil)
    }

    /// Plans the reading of a class.
    ///
    /// - Parameter shortening: What stands in the place of long values; nil where all are read whole.
    convenience init(
        _ schema: ClassSchema, keys: Set<Name>? = nil, excluded: Set<Name> = [], hidden: Set<Name> = [],
        shortening: Shortening?
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
                let marker: JSONObject = ["__type": "Relation", "className": .string(target.text)]
                constants.append(
                    Array(",".utf8)
                        + JSONObject(dictionaryLiteral: (name, .object(marker))).serialized().dropFirst().dropLast())
                continue
            }
            guard TableLayout.hasColumn(name.text, of: schema.name, type: field.type),
                let encoding = Self.encoding(name.text, field.type, schema.name)
            else { continue }
            if let short = shortening?.expression(name, field.type), encoding != .authData {
                columns.append(Column(name.text, .json))
                selected.append(short)
                continue
            }
            columns.append(Column(name.text, encoding, target: field.type.targetClass?.text))
            selected.append(SQLBuilder.quote(name.text))
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
        var cells: [Cell] = []
        var openings: [UInt8] = []
        for column in columns {
            let start = openings.count
            openings += column.opening
            cells.append(Cell(encoding: column.encoding, opening: start..<openings.count))
        }
        self.cells = cells
        self.openings = openings
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

    /// Gives `body` the cells of all columns and their openings, which are valid only during the call.
    @inline(__always)
    func withCells(_ body: (UnsafeBufferPointer<Cell>, Openings) -> Void) {
        cells.withUnsafeBufferPointer { cells in
            openings.withUnsafeBytes { body(cells, Openings(bytes: $0)) }
        }
    }

    /// What stands before the values of columns.
    struct Openings {
        fileprivate let bytes: UnsafeRawBufferPointer

        @inline(__always)
        func write(_ cell: Cell, into writer: inout JSONWriter) {
            writer.raw(UnsafeRawBufferPointer(rebasing: bytes[cell.opening]))
        }
    }

    /// The position of a column in the select list.
    func index(of column: String) -> Int? { columns.firstIndex { $0.name.hasSameBytes(as: column) } }

    /// The plan with the score of a text search as a field of each object.
    ///
    /// A field of the class that is called `score` as well gives way, as in parse-server.
    func adding(score rank: String) -> ReadPlan {
        let kept = columns.filter { $0.name != "score" }
        let selected = kept.map { SQLBuilder.quote($0.name) } + ["\(rank)::double precision AS \"$score\""]
        return ReadPlan(
            className: className, columns: kept + [Column("score", .number)], constants: constants, hasACL: hasACL,
            selectList: (selected + (hasACL ? ["\"_rperm\"", "\"_wperm\""] : [])).joined(separator: ", "))
    }
}

/// The class and the fields that a read plan was made for.
struct ReadPlanKey: Hashable {
    let className: String
    let keys: Set<Name>?
    let excluded: Set<Name>
    let hidden: Set<Name>

    init(className: String, keys: Set<Name>?, excluded: Set<Name>, hidden: Set<Name>) {
        self.className = className
        self.keys = keys.map(Self.withoutLongNames)
        self.excluded = Self.withoutLongNames(excluded)
        self.hidden = hidden
    }

    /// About how many bytes it and its plan take.
    var weight: Int {
        var bytes = 4096
        for names in [keys ?? [], excluded, hidden] { bytes += names.reduce(0) { $0 + $1.utf8.count + 32 } }
        return bytes
    }

    /// Drops client-supplied names too long for any field, which would be compared under the lock.
    private static func withoutLongNames(_ names: Set<Name>) -> Set<Name> {
        names.contains { $0.utf8.count > longestName } ? names.filter { $0.utf8.count <= longestName } : names
    }

    /// PostgreSQL's name limit in bytes.
    private static let longestName = 63
}
