import JSON
import ParseModel

/// Values that are cut while they are read: in the place of those of more bytes than are wanted stand their type, their
/// size and their beginning, so that a list of objects is read as fast whatever they hold.
struct Shortening: Sendable {
    /// The most bytes of a value that is read whole.
    let most: Int
    /// Fields that are read whole, as those that a rule looks into.
    var whole: Set<Name> = []

    /// The greatest limit. Nothing above needs shortening.
    private static let greatest = 1 << 20

    init(most: Int, whole: Set<Name> = []) {
        self.most = min(max(most, 1), Self.greatest)
        self.whole = whole
    }

    /// What is read in the place of a column, as JSON; nil for a column that is read whole.
    func expression(_ name: Name, _ type: FieldType) -> String? {
        guard !whole.contains(name), SystemClass.commonFields[name] == nil else { return nil }
        let column = SQLBuilder.quote(name.text)
        switch type {
        case .string:
            return "CASE WHEN octet_length(\(column)) > \(most) THEN jsonb_build_object('__type', 'Shortened', "
                + "'type', 'String', 'bytes', octet_length(\(column)), 'start', left(\(column), \(most))) "
                + "ELSE to_jsonb(\(column)) END"
        case .array, .object, .bytes:
            // What is stored in so many bytes is longer as text: it is not read to find that out.
            return "CASE WHEN pg_column_size(\(column)) > \(max(2_048, 8 * most)) OR octet_length(\(column)::text) > "
                + "\(most) THEN roost_shortened(\(column), '\(type.name)', \(most)) ELSE \(column) END"
        default: return nil
        }
    }
}

extension ReadAccess {
    /// Fields that decide who sees what of an object.
    var fieldsOfRules: Set<Name> { Set(ownerRules.compactMap { $0.field.map { Name($0) } }) }
}
