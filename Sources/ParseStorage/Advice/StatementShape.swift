import JSON

/// What a statement asks of one table, as far as an index can help: the same for all that differ in their values only.
package struct StatementShape: Hashable, Sendable {
    package let table: Name
    /// Columns that are compared for equality, or with what another query gives; sorted.
    var equal: [Name] = []
    /// Columns that are compared with `<` and its like; sorted.
    var ranges: [Name] = []
    /// Columns of texts that begin with something; sorted.
    var prefixes: [Name] = []
    /// The column that rows are sorted by first.
    var order: Name?
    /// Whether they are sorted downwards.
    var isDescending = false
    /// Whether a number of rows is enough.
    var isLimited = false
    /// Whether rows are only counted.
    var isCount = false
    /// The column whose different values are listed.
    var distinct: Name?
    /// Whether there are conditions or an order that no index of plain columns serves.
    var hasOther = false
    /// Whether it stands inside of another statement, whose time is known, and not its own.
    var isInner = false

    /// Whether anything in it could be served by an index.
    var isServable: Bool {
        !(equal.isEmpty && ranges.isEmpty && prefixes.isEmpty && order == nil && distinct == nil)
    }

    /// The question in words: `Track by artist, sorted by -plays`.
    package var words: String {
        if let distinct { return "different values of \(table).\(distinct)" }
        let conditions = (equal + ranges + prefixes).map(\.text)
        var text = isCount ? "\(table) counted" : table.text
        if !conditions.isEmpty { text += " by \(conditions.joined(separator: ", "))" }
        if let order {
            let key = (isDescending ? "-" : "") + order.text
            text += conditions.isEmpty ? " by \(key)" : ", sorted by \(key)"
        }
        if conditions.isEmpty, order == nil, hasOther { text += " by what no plain index serves" }
        return isInner ? text + ", inside other finds" : text
    }

    /// The text by which the shape is kept in a table.
    package var key: String {
        var object: JSONObject = ["table": .string(table.text)]
        func list(_ name: Name, _ columns: [Name]) {
            if !columns.isEmpty { object[name] = .array(columns.map { .string($0.text) }) }
        }
        func flag(_ name: Name, _ isSet: Bool) { if isSet { object[name] = true } }
        list("equal", equal)
        list("ranges", ranges)
        list("prefixes", prefixes)
        if let order { object["order"] = .string(order.text) }
        flag("descending", isDescending)
        flag("limited", isLimited)
        flag("count", isCount)
        if let distinct { object["distinct"] = .string(distinct.text) }
        flag("other", hasOther)
        flag("inner", isInner)
        return JSONValue.object(object).text
    }

    init(table: Name) { self.table = table }

    /// Reads ``key``; nil for what is none.
    package init?(key: String) {
        guard let object = try? JSONValue(parsing: key), let table = object["table"]?.stringValue else { return nil }
        func list(_ name: String) -> [Name] {
            (object[name]?.arrayValue ?? []).compactMap(\.stringValue).map { Name($0) }
        }
        func flag(_ name: String) -> Bool { object[name]?.boolValue ?? false }
        self.init(table: Name(table))
        (equal, ranges, prefixes) = (list("equal"), list("ranges"), list("prefixes"))
        order = object["order"]?.stringValue.map { Name($0) }
        distinct = object["distinct"]?.stringValue.map { Name($0) }
        (isDescending, isLimited, isCount) = (flag("descending"), flag("limited"), flag("count"))
        (hasOther, isInner) = (flag("other"), flag("inner"))
    }
}
