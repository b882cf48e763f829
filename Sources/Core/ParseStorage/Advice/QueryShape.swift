import JSON
import ParseModel

/// The parts of a find, count or `distinct` that an index can serve. Statements that differ only in their values have
/// the same shape.
package struct QueryShape: Hashable, Sendable {
    package let table: Name
    /// Columns compared for equality, sorted, at most six.
    package var equal: [Name] = []
    /// Columns compared by range, sorted, at most six.
    var ranges: [Name] = []
    /// Text columns compared by prefix, sorted, at most six.
    var prefixes: [Name] = []
    /// The first sort column, or nil if the query isn't sorted by a column.
    var order: Name?
    var isDescending = false
    var distinct: Name?
    package var isLimited = false
    var isCount = false
    /// Whether the query has conditions or a sort order that an index on plain columns can't serve.
    var hasOther = false

    private static let maxColumns = 6

    package init(table: Name, distinct: Name? = nil) { (self.table, self.distinct) = (table, distinct) }

    /// Describes a find, or the count that a find requests. Returns nil if the index on `objectId` serves it or no
    /// column is compared or sorted.
    package init?(_ request: ObjectStore.FindRequest, _ schema: ClassSchema, isCount: Bool = false) {
        table = Name(schema.name)
        let compiler = FilterCompiler(schemas: SchemaSnapshot(classes: [Name(schema.name): schema]))
        add(request.filter, compiler, schema)
        if isCount {
            self.isCount = true
            add(request.countedBy ?? request.access.filter, compiler, schema)
        } else {
            add(request.access.filter, compiler, schema)
            isLimited = request.limit != nil
            sort(by: request.order, compiler, schema)
        }
        func sorted(_ columns: [Name]) -> [Name] { Array(Set(columns).sorted().prefix(Self.maxColumns)) }
        equal = sorted(equal)
        ranges = sorted(ranges.filter { !equal.contains($0) })
        prefixes = sorted(prefixes.filter { !equal.contains($0) })
        if equal.contains("objectId") || equal + ranges + prefixes == [] && order == nil { return nil }
    }

    private mutating func add(_ filter: Filter, _ compiler: FilterCompiler, _ schema: ClassSchema) {
        switch filter {
        case .all(let parts): for part in parts { add(part, compiler, schema) }
        case .field(let path, let constraint):
            switch compiler.operand(path, schema) {
            case .column(_, let type) where TableLayout.columnType(type) != "jsonb": add(constraint, Self.column(path))
            case .relation: equal.append("objectId")
            default: hasOther = true
            }
        case .related: equal.append("objectId")
        default: hasOther = true
        }
    }

    private mutating func add(_ constraint: Constraint, _ column: Name) {
        switch constraint {
        case .equal(.null): hasOther = true
        case .isIn(let values) where values.contains(.null): hasOther = true
        case .equal, .isIn, .inQuery: equal.append(column)
        case .compare, .compareRelative: ranges.append(column)
        case .containsAllStarting: prefixes.append(column)
        case .regex(let pattern, let options) where RegexPattern.prefix(pattern, options: options) != nil:
            prefixes.append(column)
        case .exists(true): break
        default: hasOther = true
        }
    }

    private mutating func sort(by keys: [SortKey], _ compiler: FilterCompiler, _ schema: ClassSchema) {
        for key in keys {
            switch compiler.operand(key.path, schema) {
            case .column(_, let type):
                if type == .geoPoint || type == .polygon { continue }
                (order, isDescending) = (Self.column(key.path), key.isDescending)
            case .json: hasOther = true
            case .relation, .absent: continue
            }
            return
        }
    }

    private static func column(_ path: FieldPath) -> Name { Name(SystemClass.field(queriedAs: path.root)) }

    /// The query in words, for example `Track by artist, sorted by -plays`.
    var words: String {
        if let distinct { return "distinct values of \(table).\(distinct)" }
        let conditions = (equal + ranges + prefixes).map(\.text)
        var text = isCount ? "count of \(table)" : table.text
        if !conditions.isEmpty { text += " by \(conditions.joined(separator: ", "))" }
        if let order {
            let key = (isDescending ? "-" : "") + order.text
            text += conditions.isEmpty ? " by \(key)" : ", sorted by \(key)"
        }
        return text
    }
}

/// The serialized form of a shape, as stored in ``NoteTable``.
extension QueryShape {
    private typealias Member<Value> = (name: Name, path: any WritableKeyPath<QueryShape, Value> & Sendable)
    private static let lists: [Member<[Name]>] = [
        ("equal", \.equal), ("ranges", \.ranges), ("prefixes", \.prefixes),
    ]
    private static let columns: [Member<Name?>] = [("order", \.order), ("distinct", \.distinct)]
    private static let flags: [Member<Bool>] = [
        ("descending", \.isDescending), ("limited", \.isLimited), ("count", \.isCount), ("other", \.hasOther),
    ]

    package var key: String {
        var object: JSONObject = ["table": .string(table.text)]
        for (name, path) in Self.lists where !self[keyPath: path].isEmpty {
            object[name] = .array(self[keyPath: path].map { .string($0.text) })
        }
        for (name, path) in Self.columns { object[name] = self[keyPath: path].map { .string($0.text) } }
        for (name, path) in Self.flags where self[keyPath: path] { object[name] = true }
        return JSONValue.object(object).text
    }

    /// Parses ``key``. Returns nil if the text isn't a serialized shape.
    package init?(key: String) {
        guard let object = try? JSONValue(parsing: key), let table = object["table"]?.stringValue else { return nil }
        self.init(table: Name(table))
        for (name, path) in Self.lists { self[keyPath: path] = object[name]?.names ?? [] }
        for (name, path) in Self.columns { self[keyPath: path] = object[name]?.nameValue }
        for (name, path) in Self.flags { self[keyPath: path] = object[name]?.boolValue ?? false }
    }
}
