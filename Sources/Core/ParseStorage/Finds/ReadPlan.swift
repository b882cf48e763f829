import JSON
import ParseModel
import Postgres

/// The columns to select from a class and the JSON encoding of each.
///
/// ``SchemaCatalog`` caches most plans. All text that is the same for every row is prepared in advance.
final class ReadPlan: Sendable {
    enum Encoding: Sendable {
        case text, number, boolean, json, point, polygon
        /// The plain text of `createdAt` and `updatedAt`.
        case plainDate
        case date
        case pointer
        /// A file name. Its URL is added.
        case file
        /// A jsonb object of login providers. Those without data are left out.
        case authData
        /// A number for an export. NaN and the infinities are written as objects such as `{"$numberDouble":"NaN"}`.
        case exactNumber
    }

    struct Column: Sendable {
        let name: String
        /// The bytes `,"name":`.
        let key: [UInt8]
        /// The key and the fixed text before each value.
        let opening: [UInt8]
        let encoding: Encoding
        /// The target class of a pointer.
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

    /// The parts of a column needed per row. Contains no references, so iterating over columns needs no reference
    /// counting.
    struct Cell: Sendable {
        let encoding: Encoding
        /// The range of the column's opening in the concatenated openings.
        fileprivate let opening: Range<Int>
    }

    let className: String
    /// The columns in the order of the SELECT list, which ends with the two permission lists if `hasACL` is true.
    let columns: [Column]
    private let cells: [Cell]
    private let openings: [UInt8]
    /// Whether `_rperm` and `_wperm` are selected.
    let hasACL: Bool
    /// Members that are the same for every row, such as relations, each as `,"key":value`.
    let constants: [[UInt8]]
    private let expressions: [String]
    let selectList: String
    /// The query for object `$1` if one of the principals `$2` may read it. For a class without ACLs, ``anyById``.
    let readableById: String
    /// The statement that reads the object with id `$1` without checking its ACL.
    let anyById: String
    /// The bytes `{"__type":"Object","className":"X"`, which open an included object.
    let embeddedOpening: [UInt8]

    /// Plans reading objects of a class.
    ///
    /// - Parameters:
    ///   - keys: The fields to return, or nil for all. The id, dates, ACL and relations are always included.
    ///   - excluded: The fields to leave out. The id, dates and ACL stay.
    ///   - hidden: Fields that the caller can't see, even if requested.
    ///   - shortening: The rule for shortening long values, or nil to read all values whole.
    convenience init(
        _ schema: ClassSchema, keys: Set<Name>? = nil, excluded: Set<Name> = [], hidden: Set<Name> = [],
        shortening: Shortening? = nil
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
                constants.append(Self.relation(name, target))
                continue
            }
            guard TableLayout.hasColumn(name.text, of: schema.name, type: field.type),
                var encoding = Self.encoding(name.text, field.type)
            else { continue }
            if schema.name == "_User", name == "authData" {
                encoding = .authData
            } else if let short = shortening?.expression(name, field.type) {
                columns.append(Column(name.text, .json))
                selected.append(short)
                continue
            }
            columns.append(Column(name.text, encoding, target: field.type.targetClass?.text))
            selected.append(SQL.identifier(name.text))
        }
        let hasACL = !TableLayout.classesWithoutACL.contains(schema.name) && !hidden.contains("ACL")
        self.init(
            className: schema.name, columns: columns, expressions: selected, constants: constants, hasACL: hasACL)
    }

    /// - Parameter expressions: The expression of each column.
    init(className: String, columns: [Column], expressions: [String], constants: [[UInt8]], hasACL: Bool) {
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
        self.expressions = expressions
        selectList = (expressions + (hasACL ? ["\"_rperm\"", "\"_wperm\""] : [])).joined(separator: ", ")
        anyById = "SELECT \(selectList) FROM \(SQL.identifier(className)) WHERE \"objectId\" = $1"
        readableById =
            TableLayout.classesWithoutACL.contains(className)
            ? anyById : anyById + " AND (\"_rperm\" IS NULL OR \"_rperm\" && $2)"
        embeddedOpening =
            Array("{\"__type\":\"Object\",\"className\":".utf8) + JSONValue.string(className).serialized()
    }

    /// Returns the member of a relation field, as in ``constants``.
    static func relation(_ name: Name, _ target: Name) -> [UInt8] {
        let member: JSONObject = [name: ["__type": "Relation", "className": .string(target.text)]]
        return Array(",".utf8) + member.serialized().dropFirst().dropLast()
    }

    /// Returns the encoding of a field in responses, or nil for types without a column.
    static func encoding(_ name: String, _ type: FieldType) -> Encoding? {
        switch type {
        case .string: .text
        case .number: .number
        case .boolean: .boolean
        case .date: name == "createdAt" || name == "updatedAt" ? .plainDate : .date
        case .object, .array, .bytes: .json
        case .file: .file
        case .geoPoint: .point
        case .polygon: .polygon
        case .pointer: .pointer
        case .acl, .relation: nil
        }
    }

    /// Passes the cells and openings of all columns to `body`. They are valid only during the call.
    @inline(__always)
    func withCells(_ body: (UnsafeBufferPointer<Cell>, Openings) -> Void) {
        cells.withUnsafeBufferPointer { cells in
            openings.withUnsafeBytes { body(cells, Openings(bytes: $0)) }
        }
    }

    /// The JSON that precedes each column's value, such as `,"title":"`.
    struct Openings {
        fileprivate let bytes: UnsafeRawBufferPointer

        @inline(__always)
        func write(_ cell: Cell, into writer: inout JSONWriter) {
            writer.raw(UnsafeRawBufferPointer(rebasing: bytes[cell.opening]))
        }
    }

    var hasLoginData: Bool { columns.contains { $0.encoding == .authData } }

    /// Returns a user's id and login data, or nil if the login data is NULL, hidden or not selected.
    func loginData(_ result: PostgresResult, _ row: Int, omitting hidden: Set<Name>) -> (id: String, data: JSONObject)?
    {
        guard !hidden.contains("authData"), let column = columns.firstIndex(where: { $0.encoding == .authData }),
            let data = result.json(row, column)?.objectValue
        else { return nil }
        return (index(of: "objectId").flatMap { result.string(row, $0) } ?? "", data)
    }

    /// Returns the index of a column in the SELECT list, or nil if the plan doesn't select it.
    func index(of column: String) -> Int? { columns.firstIndex { $0.name.hasSameBytes(as: column) } }

    /// Returns the plan with the search score as an additional field `score`. As in parse-server, it replaces a field
    /// of that name.
    func adding(score rank: String) -> ReadPlan {
        let kept = columns.indices.filter { columns[$0].name != "score" }
        return ReadPlan(
            className: className, columns: kept.map { columns[$0] } + [Column("score", .number)],
            expressions: kept.map { expressions[$0] } + ["\(rank)::double precision AS \"$score\""],
            constants: constants, hasACL: hasACL)
    }
}

/// The class and options of a cached read plan.
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

    /// The approximate memory use of the key and its plan, in bytes.
    var weight: Int {
        var bytes = 4096
        for names in [keys ?? [], excluded, hidden] { bytes += names.reduce(0) { $0 + $1.utf8.count + 32 } }
        return bytes
    }

    /// Drops names from clients that are too long for any field, because keys are compared while a lock is held.
    private static func withoutLongNames(_ names: Set<Name>) -> Set<Name> {
        names.contains { $0.utf8.count > longestName } ? names.filter { $0.utf8.count <= longestName } : names
    }

    /// PostgreSQL's maximum name length in bytes.
    private static let longestName = 63
}
